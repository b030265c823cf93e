/* SPDX-License-Identifier: GPL-2.0-or-later */
/* client.h – the asking side of helper.sock: attach, detach, list, enter, each as one function of
 * main's. */
#ifndef SALLYPORT_CLIENT_H
#define SALLYPORT_CLIENT_H

struct arguments;

/* Each does what its command says, reports on standard output and standard error, and returns the
 * exit status. */
int client_attach(const struct arguments *a);
int client_detach(const struct arguments *a);
int client_list(const struct arguments *a);
int client_enter(const struct arguments *a);

#endif
