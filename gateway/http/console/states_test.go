package console_test

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/signalbox/signalbox/client"
	"github.com/signalbox/signalbox/client/config"
	"github.com/signalbox/signalbox/client/discovery"
	"github.com/signalbox/signalbox/client/rollout"
	"github.com/signalbox/signalbox/server"
	"github.com/signalbox/signalbox/shard"
)

// looks calls a function in both themes, as on a desk and as on a phone.
func (b *browser) looks(f func(look string, width int)) {
	b.Helper()
	for _, theme := range []string{"light", "dark"} {
		for _, width := range []int{1400, 390} {
			b.look(theme, width)
			f(fmt.Sprintf("%s-%d", theme, width), width)
		}
	}
}

// fit visits every page with usual contents, with failures, and with very many objects: no page is wider than the
// screen, in both themes, also on a phone.
func fit(t *testing.T, b *browser) {
	for prefix, fill := range map[string]func(*stage) uint64{"": usual, "failing-": failing, "huge-": huge} {
		st := newStage(t, false)
		session := fill(st)
		if prefix == "failing-" && *shots != "" {
			b.visit(st.url + allPages(session)["overview"])
			b.awaitText("host host-3 counts as failed")
		}
		for name, page := range allPages(session) {
			b.visit(st.url + page)
			b.await(drawn)
			if prefix+name == "overview" && *shots != "" {
				st.plotHosts(b)
			}
			b.looks(func(look string, width int) {
				if wide := b.evaluate("document.documentElement.scrollWidth"); wide != strconv.Itoa(width) {
					t.Errorf("%s%s, %s: %s wide", prefix, name, look, wide)
				}
				const cut = "[...document.querySelectorAll('.scroll')].some((one) => one.scrollWidth > one.clientWidth)"
				if prefix != "huge-" && b.evaluate(cut) == "true" {
					t.Errorf("%s%s, %s: a table is cut", prefix, name, look)
				}
				b.save(prefix + name + "-" + look)
			})
		}
	}
}

// put makes a piece of config and a name with an endpoint.
func (st *stage) put(s *client.Session, value, address string) {
	st.Helper()
	err := config.Put(st.Context(), st.client, node, "limits", []byte(value))
	if err == nil {
		_, err = discovery.Register(st.Context(), s, "web", discovery.Endpoint{
			Address: address, Metadata: map[string]string{"zone": value[:min(len(value), 100)]},
		})
	}
	if err != nil {
		st.Fatal(err)
	}
}

// usual is a cluster with some of everything.
func usual(st *stage) uint64 {
	st.objects()
	s, _, _, _ := st.lock("nightly")
	if _, err := s.Semaphore(strings.Repeat("a-long-name-", 7), client.Limit(3)).Acquire(st.Context()); err != nil {
		st.Fatal(err)
	}
	st.put(s, "rate=100", "10.0.0.7:8080")
	return s.ID()
}

// failing is a cluster in which a host is away, a disk is nearly full, a rollout has halted and a round hangs.
func failing(st *stage) uint64 {
	session := usual(st)
	st.hang("rebalance")
	by := rollout.ChangeInfo{Author: "ann", Reason: "the errors doubled"}
	err := rollout.New(st.client, node, "dns").Act(st.Context(), rollout.Action{Kind: rollout.Abort, By: by})
	if err != nil {
		st.Fatal(err)
	}
	load := loadAt(0)
	load.DiskFree = load.DiskTotal / 50
	st.cluster.Host(2).ReportLoad(load)
	st.cluster.Crash(3, false)
	return session
}

// huge is a cluster with long names in several scripts, values of many lines, and very many objects.
func huge(st *stage) uint64 {
	const (
		markup  = "<b onclick=alert(1)>\"'&amp; "
		hebrew  = "שלום עולם "
		endless = "without-any-place-to-break-"
	)
	for i := range 300 {
		name := fmt.Sprintf("%s%03d", strings.Repeat([]string{markup, hebrew, endless}[i%3], 4), i)
		if err := st.client.Node(node).Create(st.Context(), name, uint64(i+1)*1e9, nil); err != nil {
			st.Fatal(err)
		}
		path := fmt.Sprintf("/%s/%d/%s", []string{"prod", "test"}[i%2], i%40, strings.Repeat("deep", 1+i%20))
		if _, err := st.client.CreateNode(st.Context(), path, client.NodeConfig{}); err != nil {
			st.Fatal(err)
		}
	}
	for i := range 20 {
		st.session(fmt.Sprintf("%s, process %d on %s", strings.Repeat(endless, 20), i, hebrew))
	}
	var spec rollout.Spec
	for i := range 24 {
		spec.Locations = append(spec.Locations, rollout.Location{
			Name: fmt.Sprintf("%d-%s", i, strings.Repeat(endless, 2)), Gates: []string{"errors", "latency", endless},
		})
	}
	of := rollout.New(st.client, node, "dns")
	by := rollout.ChangeInfo{Author: strings.Repeat(endless, 2), Reason: strings.Repeat(markup, 5)}
	err := of.Create(st.Context(), spec, by)
	for i := 0; err == nil && i < 12; i++ {
		label := rollout.Label(fmt.Sprintf("%s%d", endless, i))
		_, err = of.Publish(st.Context(), []byte("x"), label, rollout.Author(hebrew))
	}
	if err != nil {
		st.Fatal(err)
	}
	s, _, _, _ := st.lock("nightly")
	value := strings.Repeat(markup+hebrew+"\n", 200) + strings.Repeat("x", 2000)
	st.put(s, value, strings.Repeat("host.", 40)+"example:80")
	for id := range shard.HostID(3) {
		st.cluster.Host(id + 1).ReportLoad(server.Load{Span: 1e9, Requests: 123456789, P99: 1e12, DiskTotal: 1 << 60})
	}
	return s.ID()
}

// plotHosts varies the hosts' work until the page has a line.
func (st *stage) plotHosts(b *browser) {
	for i := range 8 {
		for id := range shard.HostID(3) {
			st.cluster.Host(id + 1).ReportLoad(loadAt(2*i + int(id)))
		}
		const points = "(document.querySelector('.plot').querySelector('path:not(.area)')" +
			"?.getAttribute('d').split('L').length ?? 0)"
		b.await(fmt.Sprintf("%s > %d", points, i))
	}
}

// TestPicturesOfAllStates saves every page while loading, empty, refused, and without its host.
func TestPicturesOfAllStates(t *testing.T) {
	if *shots == "" {
		t.Skip("it only saves pictures: make screenshots")
	}
	b := openBrowser(t)
	save := func(name string) { b.looks(func(look string, _ int) { b.save(name + "-" + look) }) }
	t.Run("empty", func(t *testing.T) {
		st := newStage(t, false)
		b.T = t
		for name, page := range allPages(1) {
			b.visit(st.url + page)
			b.await(drawn)
			save("empty-" + name)
		}
	})
	t.Run("loading", func(t *testing.T) {
		st := newStage(t, false)
		b.T = t
		b.do("Fetch.enable", map[string]any{"patterns": []map[string]string{{"urlPattern": "*/v1/events*"}}})
		for name, page := range allPages(1) {
			if name == "unknown" {
				continue // it loads nothing
			}
			b.visit(st.url + page)
			b.await("!!document.querySelector('.bones[role=status]')")
			save("loading-" + name)
		}
		b.do("Fetch.disable", nil)
	})
	t.Run("refused", func(t *testing.T) {
		st := newStage(t, true)
		b.T = t
		for name, page := range allPages(1) {
			b.visit(st.url + page)
			b.await("!!document.querySelector('dialog[open]')")
			b.evaluate("document.querySelector('dialog').close()")
			save("refused-" + name)
		}
	})
	t.Run("disconnected", func(t *testing.T) {
		st := newStage(t, false)
		b.T = t
		session := usual(st)
		for name, page := range allPages(session) {
			b.visit(st.url + page)
			b.await(drawn)
			st.server.Close()
			b.awaitText("This host does not answer.")
			save("disconnected-" + name)
			st.serve(strings.TrimPrefix(st.url, "http://"), false)
		}
	})
	b.T = t
}
