package config_test

import (
	"context"
	"fmt"

	"github.com/signalbox/signalbox/client"
	"github.com/signalbox/signalbox/client/config"
	"github.com/signalbox/signalbox/test/clienttest"
)

// cluster starts a cluster in memory, with a client and a node.
func cluster(ctx context.Context) (c *client.Client, stop func()) {
	c, _, stop = clienttest.Connect(ctx, "/prod/jobs")
	return c, stop
}

func ExamplePut() {
	ctx := context.Background()
	c, stop := cluster(ctx)
	defer stop()

	if err := config.Put(ctx, c, "/prod/jobs", "limits", []byte("workers=8")); err != nil {
		fmt.Println(err)
		return
	}
	value, _, err := config.Get(ctx, c, "/prod/jobs", "limits")
	fmt.Println(string(value), err)
	// Output: workers=8 <nil>
}

func ExampleWatch() {
	ctx := context.Background()
	c, stop := cluster(ctx)
	defer stop()

	for v, err := range config.Watch(ctx, c, "/prod/jobs", "limits") {
		if err != nil {
			fmt.Println(err)
			return
		}
		if v.Exists {
			fmt.Println("from now on", string(v.Data))
			break
		}
		fmt.Println("not set yet")
		if err := config.Put(ctx, c, "/prod/jobs", "limits", []byte("workers=8")); err != nil {
			fmt.Println(err)
			return
		}
	}
	// Output:
	// not set yet
	// from now on workers=8
}

func ExampleEdit() {
	ctx := context.Background()
	c, stop := cluster(ctx)
	defer stop()

	for _, host := range []string{"a", "b"} {
		err := config.Edit(ctx, c, "/prod/jobs", "drained", func(old []byte) ([]byte, error) {
			return fmt.Appendf(old, "%s;", host), nil
		})
		if err != nil {
			fmt.Println(err)
			return
		}
	}
	value, _, err := config.Get(ctx, c, "/prod/jobs", "drained")
	fmt.Println(string(value), err)
	// Output: a;b; <nil>
}

func ExamplePutGuarded() {
	ctx := context.Background()
	c, stop := cluster(ctx)
	defer stop()
	session, err := c.Session(ctx, "/prod/jobs")
	if err != nil {
		fmt.Println(err)
		return
	}

	lease, err := session.Semaphore("limits", client.Limit(1)).Acquire(ctx)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(config.PutGuarded(ctx, lease, []byte("workers=8")))
	_ = lease.Release(ctx)
	fmt.Println(config.PutGuarded(ctx, lease, []byte("workers=0")))
	// Output:
	// <nil>
	// config: put "limits": client: update "limits": FENCED: released
}

// ExampleIfRevision: if two clients have read the same value, one write comes too late.
func ExampleIfRevision() {
	ctx := context.Background()
	c, stop := cluster(ctx)
	defer stop()

	put := func(value string, revision uint64) {
		err := config.Put(ctx, c, "/prod/jobs", "limits", []byte(value), config.IfRevision(revision))
		fmt.Println(value, "was put:", err == nil)
	}
	put("1", 0) // there is none
	_, read, err := config.Get(ctx, c, "/prod/jobs", "limits")
	if err != nil {
		fmt.Println(err)
	}
	put("2", read)
	put("3", read)
	// Output:
	// 1 was put: true
	// 2 was put: true
	// 3 was put: false
}
