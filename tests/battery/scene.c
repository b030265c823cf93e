/* SPDX-License-Identifier: Apache-2.0 */
/* scene.c – the words of the command line that describe a crew's surroundings, see crew.h. */
#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/battery/crew.h"

enum scene_kind { SCENE_TEXT, SCENE_V4, SCENE_V6, SCENE_MAC, SCENE_PORT, SCENE_PID, SCENE_TIMES };

#define AT(member) offsetof(struct scene, member)
static const struct {
	const char *key;
	enum scene_kind kind;
	size_t offset;
} scene_rows[] = {
	{"device", SCENE_TEXT, AT(device)},
	{"own4", SCENE_V4, AT(own4)},
	{"peer4", SCENE_V4, AT(peer4)},
	{"own6", SCENE_V6, AT(own6)},
	{"peer6", SCENE_V6, AT(peer6)},
	{"mac", SCENE_MAC, AT(mac)},
	{"peer-mac", SCENE_MAC, AT(peer_mac)},
	{"base", SCENE_PORT, AT(base)},
	{"patience", SCENE_TIMES, AT(patience)},
	{"nonce", SCENE_TEXT, AT(nonce)},
	{"closed", SCENE_TEXT, AT(closed)},
	{"open", SCENE_TEXT, AT(open)},
	{"scratch", SCENE_TEXT, AT(scratch)},
	{"outer", SCENE_TEXT, AT(outer)},
	{"outsider", SCENE_PID, AT(outsider)},
	{"cgroups", SCENE_TEXT, AT(cgroups)},
	{"cgroup", SCENE_TEXT, AT(cgroup)},
	{"state", SCENE_TEXT, AT(state)},
	{"id", SCENE_TEXT, AT(id)},
};

static int scene_mac(const char *text, uint8_t *ret)
{
	unsigned int b[6];

	if (sscanf(text, "%x:%x:%x:%x:%x:%x", &b[0], &b[1], &b[2], &b[3], &b[4], &b[5]) != 6)
		return -EINVAL;
	for (int i = 0; i < 6; i++)
		ret[i] = (uint8_t)b[i];
	return 0;
}

static int scene_set(enum scene_kind kind, void *at, const char *value)
{
	switch (kind) {
	case SCENE_TEXT:
		*(const char **)at = value;
		return 0;
	case SCENE_V4:
		return inet_pton(AF_INET, value, at) == 1 ? 0 : -EINVAL;
	case SCENE_V6:
		return inet_pton(AF_INET6, value, at) == 1 ? 0 : -EINVAL;
	case SCENE_MAC:
		return scene_mac(value, at);
	case SCENE_PORT:
		*(uint16_t *)at = (uint16_t)strtoul(value, NULL, 10);
		return 0;
	case SCENE_PID:
		*(pid_t *)at = (pid_t)strtol(value, NULL, 10);
		return 0;
	case SCENE_TIMES:
		*(int *)at = (int)strtol(value, NULL, 10);
		return *(int *)at > 0 ? 0 : -EINVAL;
	}
	return -EINVAL;
}

static int scene_word(const char *word, struct scene *s)
{
	const char *value = strchr(word, '=');

	for (size_t i = 0; value && i < sizeof(scene_rows) / sizeof(scene_rows[0]); i++)
		if (strlen(scene_rows[i].key) == (size_t)(value - word) &&
			strncmp(scene_rows[i].key, word, (size_t)(value - word)) == 0)
			return scene_set(
				scene_rows[i].kind, (char *)s + scene_rows[i].offset, value + 1);
	return -EINVAL;
}

int scene_parse(int argc, char **argv, struct scene *ret)
{
	for (size_t i = 0; i < sizeof(scene_rows) / sizeof(scene_rows[0]); i++)
		if (scene_rows[i].kind == SCENE_TEXT)
			*(const char **)((char *)ret + scene_rows[i].offset) = "";
	ret->patience = 1;
	for (int i = 0; i < argc; i++)
		if (scene_word(argv[i], ret) < 0) {
			(void)fprintf(stderr, "attempts: %s: not understood\n", argv[i]);
			return -EINVAL;
		}
	return 0;
}
