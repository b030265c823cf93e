/* SPDX-License-Identifier: Apache-2.0 */
/* lists.h – the lists that rules and bindings are made of, read from a document: hosts, ports,
 * methods, paths. */
#ifndef SALLYPORT_POLICY_LISTS_H
#define SALLYPORT_POLICY_LISTS_H

#include "base/fault.h"
#include "conf/yaml.h"
#include "policy/hosts.h"
#include "policy/paths.h"

struct lists_ports {
	uint16_t lo, hi; /* both included */
};

/*
 * Each reads a list node (known to be one) to a new array, which the caller frees with free(). 0,
 * -EBADMSG with the fault set, -ENOMEM.
 */
/* `ports`: whether the map that holds the list may have ports as well, for the message about HOST:PORT. */
int lists_hosts(const struct conf_doc *doc, const struct conf_node *list, bool ports,
	struct fault *fault, struct host_pattern **ret, unsigned *ret_n);
/* Sorted, ranges that touch are joined. */
int lists_ports(const struct conf_doc *doc, const struct conf_node *list, struct fault *fault,
	struct lists_ports **ret, unsigned *ret_n);
/* Texts borrowed from the tree. */
int lists_methods(const struct conf_doc *doc, const struct conf_node *list, struct fault *fault,
	const char ***ret, unsigned *ret_n);
/* At most LIMIT_PATHS. The units stand behind the patterns, in the same block. */
int lists_paths(const struct conf_doc *doc, const struct conf_node *list, struct fault *fault,
	struct path_pattern **ret, unsigned *ret_n);

bool lists_hosts_match(const struct host_pattern *hosts, unsigned n, const struct host *h);
bool lists_ports_match(const struct lists_ports *ports, unsigned n, uint16_t port);
/* No methods at all match every one. */
bool lists_methods_match(const char *const *methods, unsigned n, struct slice method);
/* No paths at all match every one, `*` too. */
bool lists_paths_match(
	const struct path_pattern *paths, unsigned n, struct slice target, bool broad);

#endif
