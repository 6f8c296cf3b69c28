package settings

import (
	"fmt"
	"strings"
)

// markdown returns docs/settings.md: all settings in table order.
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
		help += ". **Same on all hosts**"
	}
	return help
}

// escapeCell keeps a text from ending its table cell.
func escapeCell(text string) string { return strings.ReplaceAll(text, "|", `\|`) }

const docsHead = `# Settings

<!-- Made from the table in server/settings/table.go by: go test ./server/settings -update -->

Settings for ` + "`signalbox serve`" + `, each given as

- a flag: ` + "`--data-dir /var/lib/signalbox`" + `
- an environment variable: ` + "`SIGNALBOX_DATA_DIR=/var/lib/signalbox`" + `
- a line in the YAML file given by ` + "`--config FILE`" + ` or ` + "`SIGNALBOX_CONFIG`" + `: ` + "`data-dir: /var/lib/signalbox`" + `

A flag overrides a variable, a variable the file. At startup, the host lists every wrong setting with a remedy.

An address is ` + "`HOST:PORT`" + `; without a host (` + "`:7420`" + `), all addresses. A size is in bytes, or has a unit (` + "`64KiB`, `2GiB`" + `). A duration has a unit (` + "`20ms`, `10s`" + `).
`

const docsTail = `
## A cluster

All hosts get the same ` + "`initial-hosts`" + `, in any order, with permanent names or addresses, and their own
` + "`name`" + `.

` + "```sh" + `
signalbox serve --name a --initial-hosts a=10.0.0.1:7421,b=10.0.0.2:7421,c=10.0.0.3:7421 \
    --tls-listen 10.0.0.1:7423 --tls-cert a.pem --tls-key a.key --access-file access.yaml \
    --raft-tls-cert a.pem --raft-tls-key a.key --raft-tls-ca ca.pem
` + "```" + `

The same settings as a file:

` + "```yaml" + `
` + exampleFile + "```" + `

## Protection

If a listener outside 127.0.0.1 is unprotected, the host does not start: see [TLS](guides/tls.md).

A single host opens no port for other hosts. Without certificates and secret, several hosts warn at startup: every
process on the machine can write to the log.
` + "`(umask 077; openssl rand -base64 32 > raft-secret)`" + ` creates a secret for ` + "`--raft-secret-file`" + `.

## Access rules and root tokens

[Access control](access.md) describes ` + "`--access-file`" + ` and ` + "`--token-file`" + `. Whoever can change
the files controls access: a host warns at startup if every user on the machine can read or change them. A root token
file:

` + "```yaml" + `
principals:
  - name: token:ops
    sha256: 9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08
    grants: [{role: root, path: /}]
` + "```" + `

A removed token is refused at once, on open connections too. While the file is invalid, the last valid content
applies, and the host logs a message.

## Identity in the data directory

The first start writes the host's name, the initial host names, the cluster name, the number of data shards at bootstrap
and the machine's host name into the data directory. A host with other values does not start, and reports the
differences: give a container a fixed host name (` + "`docker run --hostname`" + `, or a StatefulSet). Only one process can use a
data directory at a time.

## Exit codes

| code | meaning |
| --- | --- |
| 0 | stopped as requested (SIGTERM or SIGINT) |
| 1 | any other failure |
| 2 | crashed; the reason is on standard error |
| 64 | the command line or the settings are wrong: a restart does not help |
| 65 | the data directory is in use, another host's, damaged, or from a newer version: a restart does not help |
| 69 | cannot listen on an address |
| 75 | the disk is full: free space, then restart |
| 130, 143 | stopped at once, by a second SIGINT or SIGTERM |
`

// exampleFile is a settings file for one of three hosts.
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
