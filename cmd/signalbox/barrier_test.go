package main

import (
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/signalbox/signalbox/cmd/signalbox/internal/cli"
)

// enter starts a party that enters the barrier named start.
func (t *tool) enter(node, script string, flags ...string) *task {
	t.t.Helper()
	args := append([]string{"barrier", node, "start", "--parties", "2"}, flags...)
	return t.start(append(args, "--", "sh", "-c", script)...)
}

func TestCommandsBeginAndEndTogether(t *testing.T) {
	x, node := sharedTool(t)
	const script = `trap 'exit 7' TERM; echo "begins $SIGNALBOX_PARTY $SIGNALBOX_BARRIER"; while :; do sleep 0.01; done`
	first := x.enter(node, script)
	first.remarks("waiting at start for 2 parties")
	second := x.enter(node, `echo "begins $SIGNALBOX_PARTY $SIGNALBOX_FENCE"; exit 3`)
	first.says("begins 0 start\n")
	second.says("begins 1 ")
	if strings.Contains(second.Output(), "begins 1 \n") {
		t.Errorf("there is no token: %s", second.Output())
	}
	first.endsBy(syscall.SIGTERM, 7)
	if code := second.wait(patience); code != 3 {
		t.Errorf("the second ends with code %d", code)
	}
}

func TestABarrierThatNotAllComeTo(t *testing.T) {
	x, node := sharedTool(t)
	alone := x.enter(node, "echo begins", "--wait", "200ms")
	if code := alone.wait(patience); code != cli.ExitNotAcquired || alone.Output() != "" ||
		!strings.Contains(alone.Errors(), "not all of 2 parties reached start within 200ms") {
		t.Errorf("code %d: %s%s", code, alone.Output(), alone.Errors())
	}
	waits := x.enter(node, "echo begins")
	waits.remarks("waiting at start")
	waits.endsBy(os.Interrupt, cli.ExitSignal+int(syscall.SIGINT))
	x.fails(cli.ExitUsage, "--parties 0 is invalid; give the number of parties", "barrier", node, "start", "--", "true")
}
