package main

import (
	"github.com/spf13/cobra"

	"github.com/signalbox/signalbox/cmd/signalbox/internal/cli"
)

// newTopics returns the help pages that belong to no command.
func newTopics(f *cli.Frame) []*cobra.Command {
	return []*cobra.Command{
		{
			Use:   "connection",
			Short: "How commands find the cluster: flags, environment variables, contexts",
			Long: `Commands find the cluster by flags, environment variables, or a context. A flag
overrides a variable, a variable overrides the context, and the context overrides the
default. signalbox context show prints the settings in effect.

` + f.ConnectionFlags() + `
The token itself can be in the variable ` + cli.TokenVariable + `. There is no flag for the token, because everybody on a machine can see the arguments
of its processes. --token-file overrides the variable. A token from a context is sent
only to the endpoints in the context.

The variables for the token file and TLS have CLIENT in their names, because a host has
settings with the same names and another meaning: a host's token file, for example, has
the hashes of many root tokens.

Contexts are in $HOME/.config/signalbox/contexts.yaml, or in the file given by
` + cli.ContextsVariable + `. signalbox context set writes the file in this format:

  current: local
  contexts:
    local:
      endpoints: 127.0.0.1:7420
    prod:
      endpoints: a.example:7423,b.example:7423,c.example:7423
      token-file: /etc/signalbox/prod.token
      tls-ca: /etc/signalbox/ca.pem
      timeout: 5s

The current context is used unless --context or ` + cli.ContextVariable + ` names another.`,
		},
		{
			Use:   "output",
			Short: "Output formats: table, json, wide",
			Long: `Data goes to standard output, and messages, such as "waiting in the queue", to standard
error. --output, short -o, or the variable ` + cli.OutputVariable + ` sets the format:

  table   for people: columns, or one property per line
  wide    a table with more columns
  json    for programs: one object per line, for each listed item or watch event,
          written at once

The JSON is the JSON of the HTTP API: a command prints the answer of the corresponding
route, and a list prints its items. Names are words with underscores; later releases may
add names. 64-bit integers, such as ids, fencing tokens and revisions, are strings,
because many JSON parsers keep only 53 bits; jq -r prints them without quotes. Durations
are milliseconds, in fields that end with _ms; times are RFC 3339. A count or limit is
"all" if it is unlimited. Bytes are text, or base64 in a field that ends with _base64 if
they are not UTF-8. Zero and empty fields are omitted, except booleans, lists, ids, and
fields that the OpenAPI document requires. A command that changed nothing prints
{"changed":false}.

Tables quote user data with unprintable characters, and shorten long data. JSON escapes
such characters. Colours are used only on a terminal, and not if NO_COLOR is set.`,
		},
		{
			Use:   "exit-codes",
			Short: "Exit codes",
			Long: `A command exits with one of these codes. Codes from 64 to 78 follow sysexits.h.

    0   success; or stopped as requested, for a command that runs until then
    1   any failure without a code of its own
   64   the command line or a setting is wrong, or a request breaks a rule
   65   serve, inspect: the data directory cannot be used
   66   not found: the node, semaphore, rollout, process, session or context does not
        exist
   69   unavailable: no host could be reached in time, the outcome is unknown, or the
        hosts cannot do it now (overloaded, disk full); serve: an address is in use
   73   already exists
   75   timeout: not acquired; process send: replies are missing; barrier: parties
        are missing; serve: the disk is full, free space and start the host again
   77   permission denied: the token is wrong, or does not allow it
   79   precondition failed: in use, changed meanwhile, fenced, quota used up
   80   lost: a lock, a session or the membership in a process is no longer held
   81   check: warnings
   82   check: critical issues
  128+n stopped by signal n before the end: 130 for SIGINT, 143 for SIGTERM

lock, elect and barrier exit with the status of the command that they run; their help
explains how to distinguish the two. rollout follow, gate and source and process run do
not. Code 2 means that the program crashed.`,
		},
	}
}
