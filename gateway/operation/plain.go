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

// tried is an SDK error that names the attempted operation: the text is "OPERATION SUBJECT: CAUSE".
type tried interface {
	error
	Fields() (operation, subject string, cause error)
}

// missing is an SDK error that names what a host did not find.
type missing interface {
	Missing() (what, answer error)
}

// Plain returns an error's text for people, composed from the contained errors' fields, without details for
// programmers: package names, and status names if the host or the client explains the status.
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
			return plainCall(e.Err) // the address or its name is already printed
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

// saysOf reports whether a text before its advice, if any, names a subject that has several words.
func saysOf(text, subject string) bool {
	if strings.HasPrefix(subject, `"`) || !strings.Contains(subject, " ") {
		return false
	}
	said, _, _ := strings.Cut(text, "; ")
	said = " " + strings.NewReplacer(`"`, "", ":", " ", ",", " ").Replace(said) + " "
	return strings.Contains(said, " "+subject+" ")
}

// plainMissing returns the host's message, if any. A host has no message for a node or a semaphore that the SDK does
// not know.
func plainMissing(what, answer error) string {
	known := errors.Is(what, client.ErrNodeNotFound) || errors.Is(what, client.ErrSemaphoreNotFound)
	if a, ok := errors.AsType[*protocol.Error](answer); ok && a.Message != "" && !known {
		return Plain(answer)
	}
	return what.Error()
}

// plainAnswer returns one line: a host does not control this program's line breaks.
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

// plainCall omits the failed system call.
func plainCall(err error) string {
	if call, ok := err.(*os.SyscallError); ok {
		err = call.Err
	}
	return Plain(err)
}

// plainAround replaces each cause's text by its plain text within the surrounding text.
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

// ownText removes the package prefix in an error from the log or the server.
func ownText(text string) string {
	return strings.TrimPrefix(strings.TrimPrefix(text, "raftlog: "), "server: ")
}
