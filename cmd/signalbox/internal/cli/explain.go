package cli

import (
	"errors"
	"regexp"
	"strings"

	"github.com/signalbox/signalbox/client"
	"github.com/signalbox/signalbox/client/process"
	"github.com/signalbox/signalbox/client/rollout"
	"github.com/signalbox/signalbox/protocol"
)

// Explain returns what to say about an error that ended a command, empty for nothing.
//
// Part of an error can be text of a host, which must not control the terminal.
func Explain(err error) string { return Escape(explain(err)) }

func explain(err error) string {
	if err == nil || errors.Is(err, ErrSilent) {
		return ""
	}
	text := plain(err)
	if strings.Contains(text, "; ") {
		return text // it says already what to do
	}
	for _, h := range hints {
		if errors.Is(err, h.err) {
			return text + "; " + h.hint
		}
	}
	return text
}

// plain is the text of an error without what only programmers need: the names of packages, and those of statuses
// where the host or the client says in words what they mean.
func plain(err error) string {
	text := packageName.ReplaceAllString(err.Error(), "$1")
	text = dialled.ReplaceAllString(text, ": ")
	for _, missing := range []error{rollout.ErrNotFound, process.ErrNotFound} {
		if errors.Is(err, missing) {
			text = strings.Replace(text, missing.Error()+": ", "", 1) // what follows says what there is not
		}
	}
	answer, ok := errors.AsType[*protocol.Error](err)
	switch {
	case !ok:
	case errors.Is(err, client.ErrNodeNotFound), errors.Is(err, client.ErrSemaphoreNotFound):
		text = strings.Replace(text, ": "+answer.Error(), "", 1)
	case answer.Message != "":
		// It stays one line: a host does not write those of this program.
		text = strings.ReplaceAll(text, answer.Message, strings.ReplaceAll(answer.Message, "\n", `\n`))
		text = strings.Replace(text, answer.Status.String()+": ", "", 1)
	}
	return once(text)
}

var (
	// packageName finds the names of packages that an error, or an error in it, begins with.
	packageName = regexp.MustCompile(`(^|: )(?:(?:admin|barrier|client|config|discovery|election|identity|` +
		`join|lock|process|raftlog|rollout|server|transport): )+`)
	// dialled finds what the standard library says of a connection. The address, or its name, stands before.
	dialled = regexp.MustCompile(`: dial tcp(?: [^ ]+)?: (?:connect: )?`)
)

// once leaves out what an error begins with, VERB SUBJECT, where the rest names the same subject. A name in quotes
// counts only where the rest begins with a verb and the name too.
func once(text string) string {
	head, rest, ok := strings.Cut(text, ": ")
	_, subject, named := strings.Cut(head, " ")
	if !ok || !named {
		return text
	}
	said, _, _ := strings.Cut(rest, "; ")
	if strings.HasPrefix(subject, `"`) {
		if _, inner, _ := strings.Cut(said, " "); strings.HasPrefix(inner, subject+":") {
			return once(rest)
		}
		return text
	}
	plain := " " + strings.NewReplacer(`"`, "", ":", " ", ",", " ").Replace(said) + " "
	if strings.Contains(subject, " ") && strings.Contains(plain, " "+subject+" ") {
		return rest
	}
	return text
}

// hints say what to do about an error that does not say so itself.
var hints = []struct {
	err  error
	hint string
}{
	{client.ErrNodeNotFound, "signalbox node create makes one, and signalbox node list shows those that there are"},
	{client.ErrSemaphoreNotFound,
		"signalbox semaphore create makes one, and signalbox semaphore list shows those that there are"},
	{client.ErrAlreadyExists, "it was not changed"},
	{client.ErrUnauthorized,
		"signalbox access list and the hosts' file of tokens say what a token may; signalbox context show tells " +
			"which one is used"},
	{client.ErrQuotaExceeded, "free some of it, or let an operator raise the quota"},
	{client.ErrStorageFull, "the disk of a host is nearly full: changes are refused until there is room"},
	{client.ErrUnavailable, "signalbox check tells what is wrong; a change may have been made all the same"},
	{client.ErrUnsupported,
		"signalbox status shows which hosts are of an older version; it can be used when all of them are upgraded"},
	{client.ErrOverloaded, "a limit of the host is reached, and nothing was changed: it may go through later"},
}
