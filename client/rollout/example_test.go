package rollout_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/signalbox/signalbox/client"
	"github.com/signalbox/signalbox/client/rollout"
	"github.com/signalbox/signalbox/test/clienttest"
)

// cluster starts a cluster in memory, with a client, a node and a session.
func cluster(ctx context.Context) (c *client.Client, s *client.Session, stop func()) {
	return clienttest.Connect(ctx, "/prod/jobs", client.Recreate())
}

// Example brings a version to SAS at once, to MAN 300 ms after SAS, and to VLA 300 ms after MAN.
func Example() {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	c, session, stop := cluster(ctx)
	defer stop()
	delay := 300 * time.Millisecond
	err := rollout.NewInSession(session, "dns").Create(ctx, rollout.Spec{Locations: []rollout.Location{
		{Name: "SAS"}, {Name: "MAN", Delay: delay}, {Name: "VLA", Delay: delay},
	}}, rollout.ChangeInfo{Author: "anna", Reason: "the zones of the resolvers"})
	if err != nil {
		fmt.Println(err)
		return
	}

	uses := make(chan string)
	instance := func(location string) {
		s, err := c.Session(ctx, "/prod/jobs", client.Recreate())
		if err != nil {
			return
		}
		m, err := rollout.Join(ctx, s, "dns", rollout.Instance{Name: "a." + location, Location: location})
		if err != nil {
			return
		}
		for t, err := range m.Targets(ctx) {
			if err != nil {
				return
			}
			uses <- fmt.Sprintf("%s uses %s: %s", location, t.Label, t.Payload)
			if err := m.Reached(ctx, t); err != nil {
				return
			}
		}
	}
	for _, location := range []string{"SAS", "MAN", "VLA"} {
		go instance(location)
	}
	for _, zone := range []string{"example.org", "example.com"} {
		began := time.Now()
		seq, err := rollout.Publish(ctx, session, "dns", []byte(zone), rollout.Label("of "+zone))
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println("version", seq)
		for i := range 3 {
			text := <-uses
			fmt.Println(text, "after its delays:", time.Since(began) >= time.Duration(i)*delay)
		}
	}
	// Output:
	// version 1
	// SAS uses of example.org: example.org after its delays: true
	// MAN uses of example.org: example.org after its delays: true
	// VLA uses of example.org: example.org after its delays: true
	// version 2
	// SAS uses of example.com: example.com after its delays: true
	// MAN uses of example.com: example.com after its delays: true
	// VLA uses of example.com: example.com after its delays: true
}

func ExampleSource() {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	_, session, stop := cluster(ctx)
	defer stop()
	err := rollout.NewInSession(session, "dns").Create(ctx, rollout.Spec{
		Locations: []rollout.Location{{Name: "SAS"}}, Versions: rollout.Asked,
	}, rollout.ChangeInfo{Author: "anna"})
	if err != nil {
		fmt.Println(err)
		return
	}

	timestamp := 0
	go rollout.Source(ctx, session, "dns", func(context.Context) (rollout.Version, error) {
		if timestamp++; timestamp == 1 {
			return rollout.Version{}, errors.New("nothing is ready")
		}
		return rollout.Version{Payload: fmt.Append(nil, timestamp)}, nil
	})
	m, err := rollout.Join(ctx, session, "dns", rollout.Instance{Name: "a", Location: "SAS"})
	if err != nil {
		fmt.Println(err)
		return
	}
	for t, err := range m.Targets(ctx) {
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Printf("version %d is %s\n", t.Seq, t.Payload)
		if t.Seq == 2 {
			return
		}
		if err := m.Reached(ctx, t); err != nil {
			fmt.Println(err)
			return
		}
	}
	// Output:
	// version 1 is 2
	// version 2 is 3
}

func ExampleRollout_Why() {
	ctx := context.Background()
	c, session, stop := cluster(ctx)
	defer stop()
	dns, by := rollout.New(c, "/prod/jobs", "dns"), rollout.ChangeInfo{Author: "anna", Reason: "the first"}
	err := dns.Create(ctx, rollout.Spec{Locations: []rollout.Location{{Name: "SAS", Gates: []string{"errors"}}}}, by)
	if err != nil {
		fmt.Println(err)
		return
	}
	why := func() {
		reasons, err := dns.Why(ctx)
		if err != nil || len(reasons) == 0 {
			fmt.Println("it is idle", err)
		}
		for _, r := range reasons {
			fmt.Println(r.Text)
		}
	}

	why()
	m, err := rollout.Join(ctx, session, "dns", rollout.Instance{Name: "a.sas", Location: "SAS"})
	if err != nil {
		fmt.Println(err)
		return
	}
	if _, err := dns.Publish(ctx, []byte("example.org")); err != nil {
		fmt.Println(err)
		return
	}
	why()
	for t, err := range m.Targets(ctx) {
		if err == nil {
			err = m.Reached(ctx, t)
		}
		if err != nil {
			fmt.Println(err)
			return
		}
		break
	}
	why()
	err = dns.ReportGate(ctx, rollout.GateReport{
		Location: "SAS", Gate: "errors", Seq: 1, Verdict: rollout.Verdict{Result: rollout.GatePassed}, By: "anna",
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	why()
	// Output:
	// it is idle <nil>
	// no leaders in SAS
	// the gate errors of SAS is pending for version 1: no checker has reported
	// it is idle <nil>
}
