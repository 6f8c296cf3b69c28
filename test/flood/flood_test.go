package flood

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/signalbox/signalbox/client"
	"github.com/signalbox/signalbox/server/servertest/process"
)

// patience is how long a host, or a flood, may take to start.
const patience = 60 * time.Second

func TestMain(m *testing.M) {
	if kind := os.Getenv(floodVariable); kind != "" {
		fmt.Fprintln(os.Stderr, flood(kind, os.Getenv(floodVariable+"_ADDRESS")))
		os.Exit(1)
	}
	os.Exit(m.Run())
}

// floodVariable turns this package's test binary into a flood: its value is the kind and the host address.
const floodVariable = "SIGNALBOX_TEST_FLOOD"

// floods are client operations that request all of a host's resources, with the given numbers of connections and
// callers per connection.
var floods = map[string]struct {
	connections int
	callers     int
	call        func(ctx context.Context, c *client.Client, name string) error
}{
	"sessions": {2, 64, func(ctx context.Context, c *client.Client, _ string) error {
		_, err := c.Session(ctx, floodNode, client.SessionTimeout(10*time.Minute))
		return err
	}},
	"updates": {4, 64, func(ctx context.Context, c *client.Client, name string) error {
		return c.Node(floodNode).Update(ctx, name, bytes.Repeat([]byte("x"), 60_000))
	}},
}

const floodNode = "/flood"

// flood is the flood process. It runs until killed.
func flood(kind, address string) error {
	ctx := context.Background()
	f := floods[kind]
	failed := make(chan error)
	for i := range f.connections {
		c, err := client.Open(ctx, address)
		if err != nil {
			return err
		}
		for j := range f.callers {
			name := fmt.Sprintf("data/%d/%d", i, j)
			if err := c.Node(floodNode).Create(ctx, name, 1, nil); err != nil {
				return err
			}
			go func() {
				for {
					if err := f.call(ctx, c, name); err != nil {
						failed <- err
						return
					}
				}
			}()
		}
	}
	fmt.Println("flooding")
	return <-failed
}

// BenchmarkOneCallerBesideAFlood locks and unlocks while another process floods the host. It reports the cycle time
// without the flood, and the slowdown factor with it.
func BenchmarkOneCallerBesideAFlood(b *testing.B) {
	scratch := b.TempDir()
	program, err := process.Build(scratch)
	if err != nil {
		b.Fatal(err)
	}
	for kind := range floods {
		b.Run(kind, func(b *testing.B) {
			ctx := context.Background()
			dir, err := os.MkdirTemp(scratch, kind)
			if err != nil {
				b.Fatal(err)
			}
			places, err := process.Places(program, dir, []string{"a"})
			if err != nil {
				b.Fatal(err)
			}
			host, err := places[0].Start()
			if err != nil {
				b.Fatal(err)
			}
			defer host.Kill()
			if err := host.AwaitReady(patience); err != nil {
				b.Fatal(err)
			}
			c, err := client.Open(ctx, places[0].Client)
			if err != nil {
				b.Fatal(err)
			}
			defer c.Close()
			if _, err := c.CreateNode(ctx, floodNode, client.NodeConfig{}); err != nil {
				b.Fatal(err)
			}
			s, err := c.Session(ctx, floodNode)
			if err != nil {
				b.Fatal(err)
			}
			cycles := func(n int) time.Duration {
				began := time.Now()
				for range n {
					l, err := s.Ephemeral("mine").Acquire(ctx)
					if err != nil {
						b.Fatal(err)
					}
					if err := l.Release(ctx); err != nil {
						b.Fatal(err)
					}
				}
				return time.Since(began) / time.Duration(n)
			}
			cycles(200) // warm up
			quiet := cycles(max(b.N, 1000))

			self, err := os.Executable()
			if err != nil {
				b.Fatal(err)
			}
			cmd := exec.Command(self)
			cmd.Env = append(os.Environ(), floodVariable+"="+kind, floodVariable+"_ADDRESS="+places[0].Client)
			flooder, err := process.Launch("the flood of "+kind, cmd)
			if err != nil {
				b.Fatal(err)
			}
			defer flooder.Kill()
			if err := flooder.AwaitOutput("it floods", patience,
				func() bool { return flooder.Output() != "" }); err != nil {
				b.Fatal(err)
			}
			cycles(200)
			b.ResetTimer()
			beside := cycles(b.N)
			b.StopTimer()
			b.ReportMetric(float64(quiet.Microseconds()), "quiet-us")
			b.ReportMetric(float64(beside)/float64(quiet), "times-quiet")
		})
	}
}
