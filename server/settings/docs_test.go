package settings

import (
	"fmt"
	"strings"
)

// markdown returns docs/settings.md: all settings in the order of the table.
func markdown() string {
	var b strings.Builder
	b.WriteString(docsHead)
	for _, g := range groups {
		fmt.Fprintf(&b, "\n## %s\n\n", g)
		b.WriteString("| setting | flag | variable | default | description |\n| --- | --- | --- | --- | --- |\n")
		for i := range table {
			if r := &table[i]; r.group == g {
				fmt.Fprintf(&b, "| `%s` | `--%s` | `%s` | %s | %s |\n",
					r.name, escapeCell(r.usage()), r.variable(), docsDefault(r), docsHelp(r))
			}
		}
	}
	b.WriteString(docsTail)
	return b.String()
}

func docsDefault(r *row) string {
	switch fallback := r.fallback(); {
	case fallback == "":
		return "none"
	case r.otherwise != "":
		return escapeCell(fallback)
	default:
		return "`" + escapeCell(fallback) + "`"
	}
}

func docsHelp(r *row) string {
	help := escapeCell(r.help)
	if r.clusterWide {
		help += ". **The same on all hosts**"
	}
	return help
}

// escapeCell keeps a text from ending its cell of a table.
func escapeCell(text string) string { return strings.ReplaceAll(text, "|", `\|`) }

const docsHead = `# Settings

<!-- Made from the table in server/settings/table.go by: go test ./server/settings -update -->

This page lists all settings for ` + "`signalbox serve`" + `. Each setting has one name and can be given in three
places:

- as a flag: ` + "`--data-dir /var/lib/signalbox`" + `
- as an environment variable: ` + "`SIGNALBOX_DATA_DIR=/var/lib/signalbox`" + `
- as a line in the YAML file given by ` + "`--config FILE`" + ` or ` + "`SIGNALBOX_CONFIG`" + `: ` + "`data-dir: /var/lib/signalbox`" + `

A flag overrides a variable, and a variable overrides the file. The host checks all settings at startup. The
host either starts, or lists every setting that must be changed, with a remedy.

An address is ` + "`HOST:PORT`" + `. An address without a host (` + "`:7420`" + `) means all addresses of the machine. A size is
a number of bytes, or a number with a unit (` + "`64KiB`, `2GiB`" + `). A duration has a unit too (` + "`20ms`, `10s`" + `).
`

const docsTail = `
## One host

Without any setting, one host serves clients at 127.0.0.1:7420, stores data in ./signalbox-data, and shows
health, metrics and status at http://127.0.0.1:7422.

` + "```sh\nsignalbox serve\n```" + `

## A cluster

All hosts get the same ` + "`initial-hosts`" + `, and each host gets its own ` + "`name`" + `. The order of the list does not
matter: host ids follow from the order of the names. The list is part of the replicated log and never
changes afterwards, so use permanent names or addresses. A host does not need the client addresses of other
hosts: hosts report client addresses to each other.

` + "```sh" + `
signalbox serve --name a --initial-hosts a=10.0.0.1:7421,b=10.0.0.2:7421,c=10.0.0.3:7421 \
    --tls-listen 10.0.0.1:7423 --tls-cert a.pem --tls-key a.key --access-file access.yaml \
    --raft-tls-cert a.pem --raft-tls-key a.key --raft-tls-ca ca.pem
` + "```" + `

The same settings as a file. Only the host's own settings differ between the hosts:

` + "```yaml" + `
` + exampleFile + "```" + `

To try a cluster, start three hosts on one machine:

` + "```sh" + `
export SIGNALBOX_INITIAL_HOSTS=a=127.0.0.1:7431,b=127.0.0.1:7441,c=127.0.0.1:7451
signalbox serve --name a --data-dir a --listen 127.0.0.1:7430 --admin-listen 127.0.0.1:7432 &
signalbox serve --name b --data-dir b --listen 127.0.0.1:7440 --admin-listen 127.0.0.1:7442 &
signalbox serve --name c --data-dir c --listen 127.0.0.1:7450 --admin-listen 127.0.0.1:7452 &
` + "```" + `

## Protection

A listener on 127.0.0.1 needs no protection from the network. If any other listener is unprotected, the host
does not start. Client listeners need TLS, and either tokens or client certificates. Listeners for other
hosts need certificates, or at least a secret. Health, metrics and status cannot be protected.
` + "`--insecure=LISTENERS`" + ` names the listeners that may be open anyway, because the network itself is trusted.

A single host opens no port for other hosts. If several hosts have neither certificates nor a secret, each
host warns at startup, on 127.0.0.1 too: every process on the machine can write to the hosts' log.
` + "`(umask 077; openssl rand -base64 32 > raft-secret)`" + ` creates a secret. Give the same secret to each host
with ` + "`--raft-secret-file raft-secret`" + `. The secret authenticates messages between hosts, but does not encrypt
messages.

## Access rules and root tokens

The file given by ` + "`--access-file`" + ` has roles and principals that a cluster without access rules imports. The
file given by ` + "`--token-file`" + ` has hashes of root tokens, which may do everything on the host.
[Access control](access.md) describes both files. Neither file has secrets, but whoever can change the files
controls access. So a host warns at startup if every user on the machine can read or change the files. This
is a root token file:

` + "```yaml" + `
principals:
  - name: token:ops
    sha256: 9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08
    grants: [{role: root, path: /}]
` + "```" + `

The host reloads the root token file when the file changes. A removed token is refused from then on, on open
connections too. While the file is invalid, the last valid content applies, and the host logs a message.

## Identity in the data directory

At the first start, the host writes its name, the list of hosts, the cluster name and the number of shards
into the data directory. At every later start, the host compares these values. A host with other values does
not start, and reports the differences. Only one process can use a data directory at a time.

The machine's host name is recorded as well, so give a container a fixed host name (` + "`docker run --hostname`" + `,
or a StatefulSet in Kubernetes).

## Exit codes

| code | meaning |
| --- | --- |
| 0 | stopped as requested (SIGTERM or SIGINT) |
| 1 | any other failure |
| 2 | crashed; the reason is on standard error |
| 64 | the command line or the settings are wrong: a restart does not help |
| 65 | the data directory is in use, another host's, damaged, or from a newer version: a restart does not help |
| 69 | cannot listen on an address |
| 130, 143 | stopped at once, by a second SIGINT or SIGTERM |
`

// exampleFile is a file of settings for one of three hosts.
const exampleFile = `name: a
initial-hosts:
  a: 10.0.0.1:7421
  b: 10.0.0.2:7421
  c: 10.0.0.3:7421
data-dir: /var/lib/signalbox
tls-listen: 10.0.0.1:7423
tls-cert: /etc/signalbox/a.pem
tls-key: /etc/signalbox/a.key
access-file: /etc/signalbox/access.yaml
raft-tls-cert: /etc/signalbox/a.pem
raft-tls-key: /etc/signalbox/a.key
raft-tls-ca: /etc/signalbox/ca.pem
log-format: json
`
