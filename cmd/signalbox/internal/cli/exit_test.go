package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/signalbox/signalbox/client"
	"github.com/signalbox/signalbox/protocol"
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
		{client.ErrNodeNotFound, ExitFailed}, // by itself it is no answer of a host
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
		protocol.StatusUnavailable: "signalbox check tells what is wrong",
		protocol.StatusOverloaded:  "nothing was changed",
		protocol.StatusUnsupported: "signalbox status shows which hosts are of an older version",
	} {
		if text := Explain(fmt.Errorf("update: %w", &protocol.Error{Status: status})); !strings.Contains(text, "; ") ||
			!strings.Contains(text, want) {
			t.Errorf("%v is shown as %q", status, text)
		}
	}
}

func TestAnErrorSaysOneThingOnce(t *testing.T) {
	answer := func(text string) error { return &protocol.Error{Status: protocol.StatusNotFound, Message: text} }
	for _, c := range []struct {
		err  error
		want string
	}{
		{fmt.Errorf("config: get %q: client: describe %q: %w", "a", "a", errors.New("none is there")),
			`describe "a": none is there`},
		{fmt.Errorf("client: operate host zz: %w", answer(`there is no host "zz"`)), `there is no host "zz"; signalbox host list shows them`},
		{fmt.Errorf("client: transfer shard 9: %w", answer("there is no shard 9")),
			"there is no shard 9; signalbox shard list shows them"},
		{fmt.Errorf("client: transfer shard 9: %w", answer("there is no shard 91")),
			"transfer shard 9: there is no shard 91; signalbox shard list shows them"},
		{errors.New("--listen: listen on 127.0.0.1:7: listen tcp 127.0.0.1:7: bind: address already in use"),
			"--listen: listen on 127.0.0.1:7: address already in use"},
		{errors.New("open: host a:1: read tcp 127.0.0.1:46348->127.0.0.1:1: read: connection reset by peer"),
			"open: host a:1: connection reset by peer"},
		{errors.New("client: list \"x\": client: describe node /no: there is no such node"),
			"describe node /no: there is no such node"},
		{errors.New("/etc/passwd: backup: the backup is damaged: it does not begin as one"),
			"/etc/passwd: the backup is damaged: it does not begin as one"},
		{fmt.Errorf("client: operate host b: %w", answer(`"z" is not KEY=VALUE`)), `operate host b: "z" is not KEY=VALUE`},
		{fmt.Errorf("client: list node /a: %w", answer("it is full; drop /a or node /a")),
			"list node /a: it is full; drop /a or node /a"},
		{errors.New("client: open: host 10.0.0.1:7420: dial tcp 10.0.0.1:7420: connect: connection refused"),
			"open: host 10.0.0.1:7420: connection refused"},
		{errors.New("client: open: host nowhere:7420: dial tcp: lookup nowhere: no such host"),
			"open: host nowhere:7420: lookup nowhere: no such host"},
		{fmt.Errorf("client: cluster plan: %w", answer("server: this host reaches no others")),
			"cluster plan: this host reaches no others"},
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
		"no answer within 1ms; --timeout lets it take longer") {
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
