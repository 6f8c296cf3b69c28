package ydb

import (
	"net"
	"testing"
	"testing/synctest"
	"time"
)

// TestUnknownConnectionIsReadSparingly: 64 KiB in 5 seconds, until hosts have accepted a ticket.
func TestUnknownConnectionIsReadSparingly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client, server := net.Pipe()
		defer client.Close()
		c := &connection{Conn: server, known: make(chan struct{})}
		go func() {
			for {
				if _, err := client.Write(make([]byte, 10_000)); err != nil {
					return
				}
			}
		}()
		began, read := time.Now(), 0
		until := func(bytes int) time.Duration {
			for read < bytes {
				n, err := c.Read(make([]byte, 32<<10))
				if err != nil {
					t.Fatal(err)
				}
				read += n
			}
			return time.Since(began)
		}
		for _, step := range []struct {
			bytes int
			want  time.Duration
		}{{maxUnknownBytes, 0}, {maxUnknownBytes + 1, 5 * time.Second}, {2*maxUnknownBytes + 1, 10 * time.Second}} {
			if took := until(step.bytes); took != step.want {
				t.Errorf("%d bytes are read after %v, want %v", step.bytes, took, step.want)
			}
		}
		close(c.known)
		if took := until(1 << 20); took != 10*time.Second {
			t.Errorf("a known connection is read until %v", took)
		}
		_ = server.Close()
	})
}
