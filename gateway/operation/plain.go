package operation

import (
	"errors"
	"regexp"
	"strings"

	"github.com/signalbox/signalbox/client"
	"github.com/signalbox/signalbox/client/process"
	"github.com/signalbox/signalbox/client/rollout"
	"github.com/signalbox/signalbox/protocol"
)

// Plain returns the text of an error for people, without what only programmers need: names of packages, and names of
// statuses where the host or the client says in words what a status means.
func Plain(err error) string {
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
	case answer.Status == protocol.StatusSessionExpired && answer.Message == "":
		text = strings.Replace(text, answer.Error(), "it is over, or there never was one", 1)
	case answer.Message != "":
		// It stays one line: a host does not write those of this program.
		text = strings.ReplaceAll(text, answer.Message, strings.ReplaceAll(answer.Message, "\n", `\n`))
		text = strings.Replace(text, answer.Status.String()+": ", "", 1)
	}
	return once(text)
}

var (
	// packageName finds the names of packages that an error, or an error in it, begins with.
	packageName = regexp.MustCompile(`(^|: )(?:(?:admin|backup|barrier|client|config|discovery|election|identity|` +
		`join|lock|process|raftlog|rollout|server|transport): )+`)
	// dialled finds what the standard library says of a connection. The address, or its name, stands before.
	dialled = regexp.MustCompile(`: (?:dial|listen|read|write) tcp(?: [^ ]+)?: (?:(?:connect|bind|read|write): )?`)
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
		if strings.HasPrefix(rest, "describe node ") {
			return rest // what is asked for first, and does not exist
		}
		return text
	}
	plain := " " + strings.NewReplacer(`"`, "", ":", " ", ",", " ").Replace(said) + " "
	if strings.Contains(subject, " ") && strings.Contains(plain, " "+subject+" ") {
		return rest
	}
	return text
}
