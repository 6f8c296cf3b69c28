package cli

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/signalbox/signalbox/client"
	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/protocol/backupfile"
)

func TestEveryErrorHasItsCode(t *testing.T) {
	for _, c := range []struct {
		err  error
		code int
	}{
		{nil, ExitDone},
		{errors.New("any"), ExitFailed},
		{client.ErrNotAcquired, ExitNotAcquired},
		{client.ErrLeaseLost, ExitLost},
		{&client.SessionEnd{Reason: client.EndDestroyed}, ExitLost},
		{client.ErrUnauthorized, ExitNoRight},
		{client.ErrNodeNotFound, ExitFailed}, // alone it is not a host response
		{fmt.Errorf("%w: %w", client.ErrNodeNotFound, client.ErrNotFound), ExitNotFound},
		{client.ErrAlreadyExists, ExitExists},
		{fmt.Errorf("%w: %w", client.ErrAlreadyExists, client.ErrPreconditionFailed), ExitState},
		{client.ErrFenced, ExitState},
		{client.ErrBadRequest, ExitUsage},
		{client.ErrUnavailable, ExitUnavailable},
		{client.ErrOverloaded, ExitUnavailable},
		{client.ErrStorageFull, ExitUnavailable},
		{&tooSlow{time.Second}, ExitUnavailable},
		{&Interrupted{syscall.SIGTERM}, 143},
		{&Interrupted{os.Interrupt}, 130},
		{ExitWith(ExitData, client.ErrNotFound), ExitData},
		{fmt.Errorf("more: %w", ExitWith(ExitData, errors.New("x"))), ExitData},
		{ExitWith(ExitData, nil), ExitDone},
	} {
		if got := ExitCode(fmt.Errorf("do: %w", c.err)); c.err != nil && got != c.code {
			t.Errorf("%v: code %d, want %d", c.err, got, c.code)
		}
		if got := ExitCode(c.err); got != c.code {
			t.Errorf("%v: code %d, want %d", c.err, got, c.code)
		}
	}
}

func TestARefusalWithoutAMessageSaysWhatToDo(t *testing.T) {
	for status, want := range map[protocol.Status]string{
		protocol.StatusUnavailable: "signalbox check shows the cause",
		protocol.StatusOverloaded:  "nothing was changed",
		protocol.StatusUnsupported: "signalbox status shows the host versions",
	} {
		if text := Explain(fmt.Errorf("update: %w", &protocol.Error{Status: status})); !strings.Contains(text, "; ") ||
			!strings.Contains(text, want) {
			t.Errorf("%v is shown as %q", status, text)
		}
	}
}

// tried is an error like the SDK's errors, with the attempted operation in its fields.
type tried struct {
	operation, subject string
	cause              error
}

func (t tried) Error() string {
	return "client: " + t.operation + " " + t.subject + ": " + t.cause.Error()
}

func (t tried) Unwrap() error { return t.cause }

func (t tried) Fields() (operation, subject string, cause error) {
	return t.operation, t.subject, t.cause
}

func TestAnErrorSaysOneThingOnce(t *testing.T) {
	answer := func(text string) error { return &protocol.Error{Status: protocol.StatusNotFound, Message: text} }
	address := &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 7}
	call := func(operation, name string, cause error) error {
		return &net.OpError{Op: operation, Net: "tcp", Addr: address, Err: os.NewSyscallError(name, cause)}
	}
	_, damaged := backupfile.NewReader(strings.NewReader("root:x:0:0"))
	for _, c := range []struct {
		err  error
		want string
	}{
		{tried{"get", `"a"`, tried{"describe", `"a"`, errors.New("none is there")}}, `describe "a": none is there`},
		{tried{"get", `"a"`, tried{"describe", `"b"`, errors.New("none is there")}},
			`get "a": describe "b": none is there`},
		{tried{"operate host", "zz", answer(`there is no host "zz"`)},
			`there is no host "zz"; signalbox host list shows all hosts`},
		{tried{"transfer shard", "9", answer("there is no shard 9")},
			"there is no shard 9; signalbox shard list shows all shards"},
		{tried{"transfer shard", "9", answer("there is no shard 91")},
			"transfer shard 9: there is no shard 91; signalbox shard list shows all shards"},
		{fmt.Errorf("--listen: listen on %v: %w", address, call("listen", "bind", syscall.EADDRINUSE)),
			"--listen: listen on 127.0.0.1:7: address already in use"},
		{tried{"open", "", tried{"host", "a:1", call("read", "read", syscall.ECONNRESET)}},
			"open: host a:1: connection reset by peer"},
		{tried{"open", "", tried{"host", "10.0.0.1:7420", call("dial", "connect", syscall.ECONNREFUSED)}},
			"open: host 10.0.0.1:7420: connection refused"},
		{tried{"open", "", tried{"host", "nowhere:7420", &net.OpError{Op: "dial", Net: "tcp",
			Err: &net.DNSError{Err: "no such host", Name: "nowhere"}}}},
			"open: host nowhere:7420: lookup nowhere: no such host"},
		{tried{"list", `"x"`, tried{"describe node", "/no", errors.New("the node does not exist")}},
			"describe node /no: the node does not exist"},
		{fmt.Errorf("/etc/passwd: %w", damaged), "/etc/passwd: the backup is damaged: not a backup file"},
		{tried{"operate host", "b", answer(`"z" is not KEY=VALUE`)}, `operate host b: "z" is not KEY=VALUE`},
		{tried{"list", "node /a", answer("it is full; drop /a or node /a")},
			"list node /a: it is full; drop /a or node /a"},
		{tried{"cluster plan", "", answer("server: the host has no connection to other hosts")},
			"cluster plan: the host has no connection to other hosts"},
		{errors.Join(tried{"open", "", errors.New("a")}, &client.SessionEnd{SessionID: 7, Reason: client.EndTakenOver}),
			"open: a\nsession 7 ended: another client took over the session"},
		{errors.New("discovery: config: what a program says stays as it is"),
			"discovery: config: what a program says stays as it is"},
	} {
		if got := Explain(c.err); got != c.want {
			t.Errorf("%v\ngot  %s\nwant %s", c.err, got, c.want)
		}
	}
}

func TestAnErrorSaysWhyItsContextEnded(t *testing.T) {
	k := &Connection{Timeout: time.Millisecond}
	ctx, cancel := k.Within(t.Context())
	defer cancel()
	<-ctx.Done()
	err := EndedBy(ctx, fmt.Errorf("list: %w", context.DeadlineExceeded))
	if ExitCode(err) != ExitUnavailable || !strings.Contains(err.Error(),
		"no answer within 1ms; use --timeout to wait longer") {
		t.Errorf("%d, %v", ExitCode(err), err)
	}
	if err := EndedBy(ctx, client.ErrNotFound); ExitCode(err) != ExitNotFound {
		t.Errorf("another error became %v", err)
	}
	if EndedBy(ctx, nil) != nil {
		t.Error("what was done in time is no error")
	}
}

func TestASignalEndsTheContext(t *testing.T) {
	if signal.Ignored(syscall.SIGHUP) {
		t.Skip("the test runs under nohup or the like")
	}
	ctx, stop := UntilInterrupted(t.Context())
	defer stop()
	self, err := os.FindProcess(os.Getpid())
	if err == nil {
		err = self.Signal(syscall.SIGHUP)
	}
	if err != nil {
		t.Fatal(err)
	}
	<-ctx.Done()
	if !WasInterrupted(ctx) || ExitCode(context.Cause(ctx)) != ExitSignal+int(syscall.SIGHUP) {
		t.Errorf("it ended because of %v", context.Cause(ctx))
	}
	stopped, stop := UntilInterrupted(t.Context())
	stop()
	if WasInterrupted(stopped) {
		t.Error("what was stopped counts as interrupted")
	}
}
