package admin_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/signalbox/signalbox/client"
	"github.com/signalbox/signalbox/client/admin"
	"github.com/signalbox/signalbox/client/internal/clienttest"
)

// Example looks at the hosts of a cluster, keeps one of them from getting more work, and reads who did so.
func Example() {
	ctx := context.Background()
	c, _, stop := clienttest.Connect(ctx, "/prod/jobs")
	defer stop()
	a := admin.Of(c)

	cluster, err := a.Describe(ctx)
	for errors.Is(err, client.ErrPreconditionFailed) { // a cluster that was only just made has no records of its hosts
		cluster, err = a.Describe(ctx)
	}
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, h := range cluster.Hosts {
		fmt.Println(h.Name, "is to be", h.Target.State)
	}
	changed, err := a.Cordon(ctx, "host-1", admin.By{Author: "ann", Reason: "its disk is slow"})
	fmt.Println("cordoned:", changed, err)
	changed, err = a.Cordon(ctx, "host-1", admin.By{Author: "bob"})
	fmt.Println("cordoned again:", changed, err)
	for e, err := range a.Audit(ctx, 1) {
		if err != nil {
			fmt.Println(err)
			return
		}
		if e.Text == "cordoned" {
			fmt.Printf("%s is %s, by %s: %s\n", e.HostName, e.Text, e.By, e.Why)
		}
	}
	// What would end the cluster is refused, and the error says why.
	if _, err = a.Expel(ctx, "host-1", true, admin.By{}); errors.Is(err, client.ErrPreconditionFailed) {
		fmt.Println("the last host stays")
	}
	// Output:
	// host-1 is to be ONLINE
	// cordoned: true <nil>
	// cordoned again: false <nil>
	// host-1 is cordoned, by ann: its disk is slow
	// the last host stays
}
