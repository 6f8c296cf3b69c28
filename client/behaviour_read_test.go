package client_test

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/signalbox/signalbox/client"
)

func TestNodesAreCreatedDescribedAlteredListedAndDropped(t *testing.T) {
	play(t, 2, 2, func(t *testing.T, _ stage, c *client.Client) {
		ctx := t.Context()
		config := client.NodeConfig{SelfCheckPeriod: 2 * time.Second, SessionGracePeriod: 20 * time.Second,
			ReadConsistency: client.Relaxed}
		n, err := c.CreateNode(ctx, "/prod/jobs", config)
		check(t, err)
		if n.Existed || n.ID == 0 || n.Config != config {
			t.Errorf("created: %+v", n)
		}
		again, err := c.CreateNode(ctx, "/prod/jobs", client.NodeConfig{})
		check(t, err)
		if !again.Existed || again.ID != n.ID || again.Config != config {
			t.Errorf("created again: %+v", again)
		}
		if _, err := c.AlterNode(ctx, "/prod/jobs", config, client.IfConfigRevision(n.ConfigVersion+1)); !errors.Is(err,
			client.ErrPreconditionFailed) {
			t.Errorf("altered another version: %v", err)
		}
		config.AttachConsistency = client.Strict
		altered, err := c.AlterNode(ctx, "/prod/jobs", config, client.IfConfigRevision(n.ConfigVersion))
		check(t, err)
		if altered.ConfigVersion <= n.ConfigVersion {
			t.Errorf("altered: %+v", altered)
		}
		for i := range 5 {
			_, err := c.CreateNode(ctx, fmt.Sprintf("/prod/%d", i), client.NodeConfig{})
			check(t, err)
		}
		var paths []string
		for n, err := range c.ListNodes(ctx, "/prod/") {
			check(t, err)
			paths = append(paths, n.Path)
		}
		if want := []string{"/prod/0", "/prod/1", "/prod/2", "/prod/3", "/prod/4", "/prod/jobs"}; !slices.Equal(paths,
			want) {
			t.Errorf("listed %v", paths)
		}
		check(t, c.DropNode(ctx, "/prod/jobs"))
		if _, err := c.DescribeNode(ctx, "/prod/jobs"); !errors.Is(err, client.ErrNotFound) {
			t.Errorf("described after its end: %v", err)
		}
		if _, err := c.CreateNode(ctx, "/x", client.NodeConfig{SelfCheckPeriod: -1}); !errors.Is(err,
			client.ErrBadRequest) {
			t.Errorf("a period below zero: %v", err)
		}
	})
}

func TestADescriptionGoesIntoTheMemoryOfAnother(t *testing.T) {
	play(t, 1, 1, func(t *testing.T, _ stage, c *client.Client) {
		ctx := t.Context()
		n := c.Node(path)
		s, err := c.Session(ctx, path)
		check(t, err)
		check(t, n.Create(ctx, "owned", 2, []byte("some data")))
		check(t, n.Create(ctx, "empty", 1, nil))
		_, err = s.Semaphore("owned").Acquire(ctx)
		check(t, err)
		var d client.SemaphoreDetails
		options := []client.DescribeOption{
			client.WithOwners(), client.WithWaiters(), client.WithConsistency(client.Strict), client.ReuseDetails(&d),
		}
		for range 2 { // the second description contains nothing from the other semaphore
			for _, name := range []string{"owned", "empty"} {
				before := d.Owners[:cap(d.Owners)]
				got, err := n.Describe(ctx, name, options...)
				check(t, err)
				want, err := n.Describe(ctx, name, options[:3]...)
				check(t, err)
				same := got.Name == want.Name && got.Limit == want.Limit && got.Revision == want.Revision &&
					got.OwnerCount == want.OwnerCount && string(got.Data) == string(want.Data) &&
					len(got.Owners) == len(want.Owners) && len(got.Waiters) == 0
				if got != &d || !same {
					t.Errorf("into memory: %+v, otherwise %+v", got, want)
				}
				if len(before) > 0 && &before[0] != &got.Owners[:1][0] {
					t.Error("the owners have other memory")
				}
			}
		}
	})
}

func TestAReaderFollowsANodeThatWasMadeAnew(t *testing.T) {
	play(t, 1, 1, func(t *testing.T, st stage, c *client.Client) {
		reader := open(t, st).Node(path)
		check(t, c.Node(path).Create(t.Context(), name, 1, []byte("old")))
		if d, err := reader.Describe(t.Context(), name, client.WithConsistency(client.Strict)); err != nil ||
			string(d.Data) != "old" {
			t.Fatal(d, err)
		}
		check(t, c.DropNode(t.Context(), path))
		second(c.CreateNode(t.Context(), path, client.NodeConfig{}))
		eventually(t, 2*time.Second, "the new node is known", func() bool {
			err := c.Node(path).Create(t.Context(), name, 1, []byte("new"))
			if err != nil && !errors.Is(err, client.ErrAlreadyExists) {
				return false
			}
			// The semaphore exists in the dropped node too, until its shard learns of the drop.
			d, err := c.Node(path).Describe(t.Context(), name, client.WithConsistency(client.Strict))
			return err == nil && string(d.Data) == "new"
		})
		eventually(t, 2*time.Second, "the new node is read", func() bool {
			d, err := reader.Describe(t.Context(), name)
			return err == nil && string(d.Data) == "new"
		})
	})
}

func TestListsGoThroughAllShards(t *testing.T) {
	play(t, 3, 4, func(t *testing.T, _ stage, c *client.Client) {
		n := c.Node(path)
		want := make(map[string]bool)
		holder := session(t, c)
		for i := range 40 {
			name := fmt.Sprintf("a/%d", i)
			if i >= 30 {
				name = fmt.Sprintf("b/%d", i)
			} else {
				want[name] = true
			}
			check(t, n.Create(t.Context(), name, 1, []byte(name)))
			acquire(t, holder.Semaphore(name))
		}
		got := make(map[string]bool)
		for s, err := range n.Semaphores(t.Context(), client.Prefix("a/"), client.WithData()) {
			check(t, err)
			if got[s.Name] || string(s.Data) != s.Name || s.OwnerCount != 1 {
				t.Errorf("listed %+v", s)
			}
			got[s.Name] = true
		}
		if len(got) != len(want) {
			t.Errorf("%d semaphores of %d", len(got), len(want))
		}
		held := 0
		for h, err := range c.Holdings(t.Context(), holder.ID()) {
			check(t, err)
			if h.Waiting || h.OrderID == 0 || h.Count != 1 {
				t.Errorf("held: %+v", h)
			}
			held++
		}
		if held != 40 {
			t.Errorf("%d holdings", held)
		}
		sessions := map[uint64]bool{holder.ID(): true}
		for range 20 {
			sessions[session(t, c).ID()] = true
		}
		for s, err := range n.Sessions(t.Context()) {
			check(t, err)
			delete(sessions, s.ID)
		}
		if len(sessions) != 0 {
			t.Errorf("not listed: %v", sessions)
		}
		for _, err := range c.Node("/nowhere").Sessions(t.Context()) {
			if !errors.Is(err, client.ErrNotFound) {
				t.Errorf("a list of nothing: %v", err)
			}
		}
	})
}

func TestADescriptionTellsOwnersAndWaiters(t *testing.T) {
	play(t, 2, 2, func(t *testing.T, _ stage, c *client.Client) {
		first := acquire(t, session(t, c).Semaphore(name, client.Limit(2)), client.Count(2),
			client.Data([]byte("owner")))
		s := session(t, c)
		acquiring(t, t.Context(), s.Semaphore(name), client.Data([]byte("waiter")), client.Wait(30*time.Second))
		forever := session(t, c)
		acquiring(t, t.Context(), forever.Semaphore(name))
		d, err := s.Semaphore(name).Describe(t.Context(), client.WithOwners(), client.WithWaiters())
		check(t, err)
		if len(d.Owners) != 1 || d.Owners[0].OrderID != first.Fence() || d.Owners[0].SessionID != first.Session() ||
			d.OwnerCount != 1 {
			t.Errorf("owners: %+v", d.Owners)
		}
		if len(d.Waiters) != 2 || d.Waiters[0].SessionID != s.ID() || string(d.Waiters[0].Data) != "waiter" ||
			d.Waiters[0].Wait != 30*time.Second || d.Waiters[1].Wait >= 0 {
			t.Errorf("waiters: %+v", d.Waiters)
		}
		if d, err := s.Semaphore(name).Describe(t.Context()); err != nil || len(d.Owners)+len(d.Waiters) != 0 ||
			d.WaiterCount != 2 {
			t.Errorf("without lists: %+v, %v", d, err)
		}
	})
}

// TestPartsOfADescriptionAreTheWhole: the parts list owners, then waiters, each once, for any part size.
func TestPartsOfADescriptionAreTheWhole(t *testing.T) {
	server := func(t *testing.T) stage { return newServerStage(t, 1, 1) } // it bounds parts
	playOn(t, server, func(t *testing.T, _ stage, c *client.Client) {
		for range 3 {
			acquire(t, session(t, c).Semaphore(name, client.Limit(3)))
		}
		for range 4 {
			acquiring(t, t.Context(), session(t, c).Semaphore(name))
		}
		whole := describe(t, c)
		for _, most := range []int{0, 1, 2, 3, 7, 8} {
			parts := client.SemaphoreDetails{}
			options := []client.DescribeOption{client.WithOwners(), client.WithWaiters(), client.Most(most)}
			for part, err := range c.Node(path).DescribeParts(t.Context(), name, 0, options...) {
				check(t, err)
				if n := len(part.Owners) + len(part.Waiters); most > 0 && n > most {
					t.Errorf("a part has %d entries, and %d were asked for", n, most)
				}
				parts.SemaphoreInfo = part.SemaphoreInfo
				parts.Owners = append(parts.Owners, part.Owners...)
				parts.Waiters = append(parts.Waiters, part.Waiters...)
			}
			if !reflect.DeepEqual(parts.Owners, whole.Owners) || !reflect.DeepEqual(parts.Waiters, whole.Waiters) ||
				parts.Revision != whole.Revision || len(parts.Owners) != 3 || len(parts.Waiters) != 4 {
				t.Errorf("parts of %d: %+v, the whole is %+v", most, parts, whole)
			}
		}
	})
}

// changeLog records a one-shot watch's reports.
type changeLog struct {
	mu  sync.Mutex
	all []string
}

func (l *changeLog) option(f func(func(data, owners bool)) client.DescribeOption) client.DescribeOption {
	return f(func(data, owners bool) {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.all = append(l.all, fmt.Sprint(data, owners))
	})
}

func (l *changeLog) is(t *testing.T, want ...string) {
	t.Helper()
	eventually(t, 0, fmt.Sprintf("notified of %v", want), func() bool {
		l.mu.Lock()
		defer l.mu.Unlock()
		return slices.Equal(l.all, want)
	})
}

func TestAOneShotWatchTellsOnce(t *testing.T) {
	play(t, 2, 2, func(t *testing.T, st stage, c *client.Client) {
		s := session(t, c)
		sem := s.Semaphore(name)
		check(t, sem.Create(t.Context(), 1, nil))
		watch := func(f func(func(data, owners bool)) client.DescribeOption) *changeLog {
			x := &changeLog{}
			check(t, second(sem.Describe(t.Context(), x.option(f))))
			return x
		}
		x := watch(client.OnChanged)
		x.is(t)
		check(t, sem.Update(t.Context(), []byte("a")))
		x.is(t, "true false")
		check(t, sem.Update(t.Context(), []byte("b")))
		x.is(t, "true false")

		x = watch(client.OnOwnersChanged)
		check(t, sem.Update(t.Context(), []byte("c")))
		x.is(t)
		acquire(t, session(t, c).Semaphore(name))
		x.is(t, "false true")

		x = watch(client.OnDataChanged)
		y := watch(client.OnDataChanged) // from the same session
		x.is(t, "false false")
		st.cut()
		y.is(t, "false false")
		eventually(t, time.Second, "the session is attached", func() bool { return s.State() == client.Attached })

		x = watch(client.OnChanged)
		check(t, s.Close(t.Context()))
		x.is(t, "false false")
		if _, err := c.Node(path).Describe(t.Context(), name, (&changeLog{}).option(client.OnChanged)); !errors.Is(err,
			client.ErrBadRequest) {
			t.Errorf("without a session: %v", err)
		}
	})
}

func TestAHostIsAskedHowItIs(t *testing.T) {
	play(t, 3, 1, func(t *testing.T, st stage, c *client.Client) {
		check(t, c.Ping(t.Context()))
		st.take(0)
		list, err := c.Status(t.Context())
		check(t, err)
		up := 0
		for _, h := range list {
			if h.Err == nil {
				up++
			}
		}
		if len(list) != 3 || up != 2 {
			t.Errorf("%d hosts, %d of them up", len(list), up)
		}
		for i := range 3 {
			st.take(i)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
		defer cancel()
		if err := c.Ping(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("a ping to nobody: %v", err)
		}
	})
}
