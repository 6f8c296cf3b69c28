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
			Long: `Commands that speak to a cluster are told how to reach it by flags, by variables of the
environment, or by a context. A flag goes before its variable, a variable before the
context, and the context before the default. signalbox context show tells what counts.

` + f.ConnectionFlags() + `
The token itself can be in the variable ` + cli.TokenVariable + `. There is no flag for it, because
everybody on a machine can see the arguments of its processes. --token-file goes
before it. The token of a context is given to the endpoints of that context alone.

The variables of the token's file and of TLS have CLIENT in their names, because a host
has settings of the same names with another meaning: the root tokens of a host, for
example, has many, and only their hashes.

Contexts are in $HOME/.config/signalbox/contexts.yaml, or in the file that
` + cli.ContextsVariable + ` names. signalbox context set writes it; by hand it is written so:

  current: local
  contexts:
    local:
      endpoints: 127.0.0.1:7420
    prod:
      endpoints: a.example:7423,b.example:7423,c.example:7423
      token-file: /etc/signalbox/prod.token
      tls-ca: /etc/signalbox/ca.pem
      timeout: 5s

The current context counts unless --context or ` + cli.ContextVariable + ` names another.`,
		},
		{
			Use:   "output",
			Short: "Output formats: table, json, wide",
			Long: `Data goes to standard output, and everything else, such as "waiting in the queue", to
standard error. --output, short -o, or the variable ` + cli.OutputVariable + `, says how data is printed:

  table   for people: columns, or a line for each property
  wide    a table with more columns
  json    for programs: an object on one line for each thing that is listed or that
          happens in a watch, written as soon as it is known

The JSON is that of the HTTP API: a command prints what the route answers that does the
same, and a list prints its items. Names are words with underscores; more can be added.
Whole numbers of 64 bits, such as ids, fencing tokens and revisions, are strings, since
many readers of JSON keep no more than 53 bits: jq -r prints them bare. Durations are
milliseconds, in fields that end with _ms, times are RFC 3339. A count or a limit is
"all" where there is no end. Bytes are text, or base64 in a field that ends with
_base64 where they are not UTF-8. What is zero or empty is left out, except booleans and
lists; what has changed nothing prints {"changed":false}.

In tables and lines, what others have named is quoted if there is anything in it that
is not printable, and long data is cut. In JSON such characters are escapes. Only a terminal gets colours, and not where
NO_COLOR is set.`,
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
   75   not in time: not acquired; process send: replies are missing; barrier: parties
        are missing; serve: the disk is full, free space and start the host again
   77   permission denied: the token is wrong, or does not allow it
   79   precondition failed: in use, changed meanwhile, fenced, quota used up
   80   lost: a lock, a session or the membership in a process is no longer held
   81   check: warnings
   82   check: critical issues
  128+n stopped by signal n before the end: 130 for SIGINT, 143 for SIGTERM

lock, elect and barrier exit with the code of the command that they run; their help says
how to tell the two apart. rollout follow, gate and source and process run do not. Code
2 means that the program crashed.`,
		},
	}
}
