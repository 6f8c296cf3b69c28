package operation

import (
	"errors"
	"net"
	"os"
	"strconv"
	"strings"

	"github.com/signalbox/signalbox/client"
	"github.com/signalbox/signalbox/protocol"
)

// tried is an error of the SDK that says what was tried: the text is "OPERATION SUBJECT: CAUSE".
type tried interface {
	error
	Fields() (operation, subject string, cause error)
}

// missing is an error of the SDK that says what a host did not find.
type missing interface {
	Missing() (what, answer error)
}

// Plain returns the text of an error for people, composed from the fields of the errors in it, without what only
// programmers need: names of packages, and names of statuses if the host or the client says in words what a status
// means.
func Plain(err error) string {
	switch e := err.(type) {
	case tried:
		return plainTried(e)
	case missing:
		return plainMissing(e.Missing())
	case *protocol.Error:
		return plainAnswer(e)
	case *client.SessionEnd:
		return plainEnd(e)
	case *net.OpError:
		if e.Op == "dial" || e.Op == "listen" || e.Op == "read" || e.Op == "write" {
			return plainCall(e.Err) // the address, or its name, stands before
		}
	case interface{ Unwrap() error }:
		if cause := e.Unwrap(); cause != nil {
			return plainAround(err.Error(), cause)
		}
	case interface{ Unwrap() []error }:
		return plainAround(err.Error(), e.Unwrap()...)
	}
	return ownText(err.Error())
}

// plainTried leaves the operation out if the cause names the subject too.
func plainTried(e tried) string {
	operation, subject, cause := e.Fields()
	text := Plain(cause)
	if inner, ok := cause.(tried); ok {
		// A node is asked for first, and does not exist.
		what, of, _ := inner.Fields()
		if strings.HasPrefix(subject, `"`) && (of == subject || what == "describe node") {
			return text
		}
	}
	head := strings.TrimSuffix(operation+" "+subject, " ")
	if _, named, ok := strings.Cut(head, " "); ok && saysOf(text, named) {
		return text
	}
	return head + ": " + text
}

// saysOf reports whether a text names a subject of several words before its advice, if it has advice.
func saysOf(text, subject string) bool {
	if strings.HasPrefix(subject, `"`) || !strings.Contains(subject, " ") {
		return false
	}
	said, _, _ := strings.Cut(text, "; ")
	said = " " + strings.NewReplacer(`"`, "", ":", " ", ",", " ").Replace(said) + " "
	return strings.Contains(said, " "+subject+" ")
}

// plainMissing is the host's message if it has one. A host says nothing of a node or a semaphore that the SDK does not
// know.
func plainMissing(what, answer error) string {
	known := errors.Is(what, client.ErrNodeNotFound) || errors.Is(what, client.ErrSemaphoreNotFound)
	if a, ok := errors.AsType[*protocol.Error](answer); ok && a.Message != "" && !known {
		return Plain(answer)
	}
	return what.Error()
}

// plainAnswer is one line: a host does not write the lines of this program.
func plainAnswer(e *protocol.Error) string {
	if e.Message == "" {
		if e.Status == protocol.StatusSessionExpired {
			return "the session has ended or never existed"
		}
		return e.Error()
	}
	line := *e
	line.Message = ownText(strings.ReplaceAll(e.Message, "\n", `\n`))
	return strings.TrimPrefix(line.Error(), e.Status.String()+": ")
}

func plainEnd(e *client.SessionEnd) string {
	text := "session " + strconv.FormatUint(e.SessionID, 10) + " ended: " + e.Reason.String()
	if e.Detail != "" {
		text += ": " + e.Detail
	}
	return text
}

// plainCall leaves out which system call failed.
func plainCall(err error) string {
	if call, ok := err.(*os.SyscallError); ok {
		err = call.Err
	}
	return Plain(err)
}

// plainAround replaces the text of each cause by its plain text in the text around them.
func plainAround(text string, causes ...error) string {
	var plain strings.Builder
	for _, cause := range causes {
		before, after, ok := strings.Cut(text, cause.Error())
		if !ok {
			continue // the text does not show this cause
		}
		plain.WriteString(before)
		plain.WriteString(Plain(cause))
		text = after
	}
	plain.WriteString(text)
	return ownText(plain.String())
}

// ownText leaves out the package that an error of the log or of the server begins with.
func ownText(text string) string {
	return strings.TrimPrefix(strings.TrimPrefix(text, "raftlog: "), "server: ")
}
