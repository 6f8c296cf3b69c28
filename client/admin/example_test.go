package admin_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/signalbox/signalbox/client"
	"github.com/signalbox/signalbox/client/admin"
	"github.com/signalbox/signalbox/test/clienttest"
)

// Example lists a cluster's hosts, stops new work for one host, and reads the author of the change.
func Example() {
	ctx := context.Background()
	c, _, stop := clienttest.Connect(ctx, "/prod/jobs")
	defer stop()
	a := admin.New(c)

	cluster, err := a.Describe(ctx)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, h := range cluster.Hosts {
		fmt.Println(h.Name, "is to be", h.Target.State)
	}
	changed, err := a.Cordon(ctx, "host-1", admin.ChangeInfo{Author: "ann", Reason: "its disk is slow"})
	fmt.Println("cordoned:", changed, err)
	changed, err = a.Cordon(ctx, "host-1", admin.ChangeInfo{Author: "bob"})
	fmt.Println("cordoned again:", changed, err)
	for e, err := range a.Audit(ctx, 1) {
		if err != nil {
			fmt.Println(err)
			return
		}
		if e.Text == "cordoned" {
			fmt.Printf("%s is %s, by %s: %s\n", e.HostName, e.Text, e.Author, e.Reason)
		}
	}
	// A change that would end the cluster is refused, with the reason in the error.
	if _, err = a.Expel(ctx, "host-1", true, admin.ChangeInfo{}); errors.Is(err, client.ErrPreconditionFailed) {
		fmt.Println("the last host stays")
	}
	// Output:
	// host-1 is to be ONLINE
	// cordoned: true <nil>
	// cordoned again: false <nil>
	// host-1 is cordoned, by ann: its disk is slow
	// the last host stays
}

// ExampleAdmin_CreateToken creates a token for one service's locks below a path and asks which grant allows the access.
// The owner of the secret opens a client with client.WithToken.
func ExampleAdmin_CreateToken() {
	ctx := context.Background()
	c, _, stop := clienttest.Connect(ctx, "/prod/jobs")
	defer stop()
	a, by := admin.New(c), admin.ChangeInfo{Author: "ann", Reason: "the nightly jobs"}

	// The first rule of a new cluster must leave a principal with the right to change rules: here every client.
	_, err := a.Grant(ctx, "anonymous", admin.Grant{Role: "root", Path: "/"}, by)
	fmt.Println("granted:", err)
	grants := []admin.Grant{{Role: "write", Path: "/prod/jobs", Object: "nightly-"}}
	expires := time.Now().Add(24 * time.Hour)
	created, err := a.CreateToken(ctx, "ci", "a long random secret", expires, grants, by)
	fmt.Println("created:", created, err)
	who, _, err := a.WhoCan(ctx, "acquire", "/prod/jobs", "nightly-1")
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, d := range who {
		fmt.Printf("%s may, as %s of %s\n", d.Principal, d.Grant.Role, d.Grant.Path)
	}
	revoked, err := a.RevokeToken(ctx, "ci", by)
	fmt.Println("revoked:", revoked, err)
	// Output:
	// granted: <nil>
	// created: true <nil>
	// token:ci may, as write of /prod/jobs
	// anonymous may, as root of /
	// revoked: true <nil>
}
