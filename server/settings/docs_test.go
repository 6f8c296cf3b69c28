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

All settings of ` + "`signalbox serve`" + `. Each setting has one name and can be given in three places:

- as a flag: ` + "`--data-dir /var/lib/signalbox`" + `
- as a variable of the environment: ` + "`SIGNALBOX_DATA_DIR=/var/lib/signalbox`" + `
- as a line of a YAML file that ` + "`--config FILE`" + ` or ` + "`SIGNALBOX_CONFIG`" + ` names: ` + "`data-dir: /var/lib/signalbox`" + `

A flag overrides a variable, and a variable overrides the file. The host checks all settings at the
start: it either starts or lists every setting that must be changed, with a remedy.

An address is ` + "`HOST:PORT`" + `; without a host (` + "`:7420`" + `) it means all addresses of the machine. A size is a number of
bytes or has a unit (` + "`64KiB`, `2GiB`" + `), a duration has one too (` + "`20ms`, `10s`" + `).
`

const docsTail = `
## One host

Without any setting one host serves clients at 127.0.0.1:7420, has its data in ./signalbox-data, and shows health,
metrics and status at http://127.0.0.1:7422.

` + "```sh\nsignalbox serve\n```" + `

## A cluster

All hosts get the same ` + "`initial-hosts`" + `, and each its own ` + "`name`" + `. The order of the list does not matter: host ids
follow from the order of the names. The list is part of the replicated log and never changes afterwards, so use names or
addresses that last. Client addresses of other hosts are not needed: hosts report them to each other.

` + "```sh" + `
signalbox serve --name a --initial-hosts a=10.0.0.1:7421,b=10.0.0.2:7421,c=10.0.0.3:7421 \
    --tls-listen 10.0.0.1:7423 --tls-cert a.pem --tls-key a.key --access-file access.yaml \
    --raft-tls-cert a.pem --raft-tls-key a.key --raft-tls-ca ca.pem
` + "```" + `

The same as a file. Only the settings of the host itself differ between the hosts:

` + "```yaml" + `
` + exampleFile + "```" + `

Three hosts on one machine, to try things out:

` + "```sh" + `
export SIGNALBOX_INITIAL_HOSTS=a=127.0.0.1:7431,b=127.0.0.1:7441,c=127.0.0.1:7451
signalbox serve --name a --data-dir a --listen 127.0.0.1:7430 --admin-listen 127.0.0.1:7432 &
signalbox serve --name b --data-dir b --listen 127.0.0.1:7440 --admin-listen 127.0.0.1:7442 &
signalbox serve --name c --data-dir c --listen 127.0.0.1:7450 --admin-listen 127.0.0.1:7452 &
` + "```" + `

## Protection

A listener on 127.0.0.1 needs no protection from the network. Every other listener must have it, or the host does not
start: clients need TLS, and either tokens or client certificates; hosts need certificates for each other, or at
least a secret; health, metrics and status cannot be protected. ` + "`--insecure=LISTENERS`" + ` names the listeners that may be open
anyway, because the network itself is trusted.

A single host opens no port for other hosts. Several hosts with neither certificates nor a secret warn at their start,
on 127.0.0.1 too: every process of the machine can write to their log.
` + "`(umask 077; openssl rand -base64 32 > raft-secret)`" + ` makes a secret;
give the same secret to each host with ` + "`--raft-secret-file raft-secret`" + `. It authenticates messages between hosts and does
not encrypt them.

## Access rules and root tokens

The file of ` + "`--access-file`" + ` has roles and principals that a cluster without access rules imports. The file of
` + "`--token-file`" + ` has hashes of root tokens, which may do everything on the host. [Access control](access.md) describes
both. Neither has secrets, but whoever can change them controls access, so a host warns at its start if every user of
the machine can read or change them. A file of root tokens:

` + "```yaml" + `
principals:
  - name: token:ops
    sha256: 9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08
    grants: [{role: root, path: /}]
` + "```" + `

The file of root tokens is read again when it changes. What it no longer has is refused from then on, on open
connections too; while it is broken the last good content counts, and the log says so.

## Identity in the data directory

The name of the host, the list of hosts, the name of the cluster and the number of shards are written into the data
directory at the first start and compared at every later start. A host with other values does not start, and reports
the differences. Only one process can use a data directory at a time.

The host name of the machine is recorded as well, so give a container a fixed host name (` + "`docker run --hostname`" + `, or a
StatefulSet in Kubernetes).

## Exit codes

| code | meaning |
| --- | --- |
| 0 | stopped as requested (SIGTERM or SIGINT) |
| 1 | any other failure |
| 2 | crashed; the reason is on standard error |
| 64 | the command line or the settings are wrong: a restart does not help |
| 65 | the data directory is in use, another host's, damaged, or of a newer version: a restart does not help |
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
