package console_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/signalbox/signalbox/client"
	"github.com/signalbox/signalbox/client/rollout"
)

// heads returns the expression for the column heads in the page's n-th table.
func heads(n int) string {
	return fmt.Sprintf("[...(document.querySelectorAll('main table')[%d]?.querySelectorAll('th') ?? [])]"+
		".map((one) => one.textContent).join()", n)
}

// rowsUnder returns the expression for the rows of the page's table with the given first head.
func rowsUnder(head string) string {
	return fmt.Sprintf("[...document.querySelectorAll('main table')].filter((one) => one.querySelector('th')"+
		".textContent === %q).flatMap((one) => [...one.querySelectorAll('tbody tr')])", head)
}

// openHostAndShard: the hosts page leads to a host's page, and this page to a shard's page.
func openHostAndShard(t *testing.T, b *browser) {
	st := newStage(t, false)
	b.visit(st.url + "/hosts")
	b.awaitText("complete")
	b.evaluate("[...document.querySelectorAll('main a')].find((one) => one.textContent === 'host-2').click()")
	b.await("location.pathname === '/host' && document.querySelector('h1').textContent === 'host-2'")
	b.awaitText("requests a second")
	b.awaitText("64.0\nof 256.0 GB free")
	b.await(rowsUnder("Shard") + ".length === 2") // the meta shard and a data shard
	b.await(heads(0) + " === 'Shard,Role,Leader,Lag,Applied entry,To apply'")
	b.evaluate("[...document.querySelectorAll('main a')].find((one) => one.textContent === '1').click()")
	b.await("location.pathname === '/shard' && document.querySelector('h1').textContent === 'Shard 1'")
	b.await(rowsUnder("Host") + ".length === 3")
	b.await("[...document.querySelectorAll('tbody .badge')].filter((one) => one.textContent === 'leader').length === 1")
	b.awaitText("3 / 3\nlive voters")
	b.await("/^host-[123]\\nleader$/.test(document.querySelector('.tile').innerText)")
	b.await("/[1-9]/.test(" + rowsUnder("Host") + "[0].querySelectorAll('td')[3].innerText)")
	st.cluster.Crash(3, false)
	b.awaitText("voter, silent")
	b.awaitText("2 / 3\nlive voters")
	b.visit(st.url + "/host?name=host-3")
	b.awaitText("silent for")
	b.awaitText("The host does not report its load")
	b.awaitText("host host-3 counts as failed")
	b.visit(st.url + "/host?name=none")
	b.awaitText("The host does not exist.")
	b.checkQuiet(st.url)
}

// showLastErrors: a rollout's page lists failing instances first, with their reported error.
func showLastErrors(t *testing.T, b *browser) {
	st := newStage(t, false)
	st.objects()
	name := rollout.Instance{Name: "b.man", Location: "MAN"}
	if err := rollout.New(st.client, node, "dns").Promote(t.Context(), rollout.ChangeInfo{}, 1); err != nil {
		t.Fatal(err)
	}
	m, err := rollout.Join(t.Context(), st.session("man"), "dns", name)
	if err != nil {
		t.Fatal(err)
	}
	b.visit(st.at("/rollout", "dns"))
	row := func(n int) string {
		return fmt.Sprintf("document.querySelectorAll('main table')[0]?.querySelectorAll('tbody tr')[%d]?.innerText", n)
	}
	b.await(row(0) + "?.includes('a.sas')")
	for target, err := range m.Targets(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		if err := m.Failed(t.Context(), target, "ENOSPC", errors.New("no space left on /var")); err != nil {
			t.Fatal(err)
		}
		break
	}
	b.await(row(0) + "?.includes('no space left on /var')") // the page now follows the second location
	b.await(row(0) + ".includes('ENOSPC') && " + row(0) + ".includes('failed')")
	b.await(heads(0) + " === 'Instance,Location,State,Version,Last error,Attempts,Since'")
	b.checkQuiet(st.url)
}

// publishAndWithdraw from a rollout's page.
func publishAndWithdraw(t *testing.T, b *browser) {
	st := newStage(t, false)
	st.objects()
	b.visit(st.at("/rollout", "dns"))
	b.click("Publish")
	b.await("!!document.querySelector('dialog [name=payload]')")
	b.evaluate("document.querySelector('dialog [name=label]').value = 'v2'")
	b.evaluate("document.querySelector('dialog [name=payload]').value = 'a\\nb'")
	b.fill("reason", "a test of publish")
	b.awaitText("a test of publish")
	web := rollout.New(st.client, node, "dns")
	version, err := web.Payload(t.Context(), 2)
	if err != nil || string(version.Payload) != "a\nb" {
		t.Errorf("%q %v", version.Payload, err)
	}
	b.click("Withdraw")
	b.await("document.querySelector('dialog [name=version]').value === '2 v2'")
	b.fill("reason", "a test of withdraw")
	b.awaitText("a test of withdraw")
	state, err := web.Describe(t.Context(), rollout.Consistency(client.Strict))
	if err != nil || len(state.Versions) != 2 || !state.Versions[1].Withdrawn {
		t.Errorf("%+v %v", state, err)
	}
	b.checkQuiet(st.url)
}

// hideFreeSemaphores: free semaphores are hidden and counted, and the address contains the state.
func hideFreeSemaphores(t *testing.T, b *browser) {
	st := newStage(t, false)
	for _, name := range []string{"idle-1", "idle-2"} {
		if err := st.client.Node(node).Create(t.Context(), name, 1, nil); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := st.session("one").Semaphore("owned", client.Limit(1)).Acquire(t.Context()); err != nil {
		t.Fatal(err)
	}
	_, _, _, _ = st.lock("waited")
	names := "[...document.querySelectorAll('tbody tr')].map((one) => one.querySelector('a').textContent).sort().join()"
	b.visit(st.url + "/locks")
	b.await(names + " === 'owned,waited'")
	b.awaitText("2 free semaphores are hidden.")
	b.click("Show all")
	b.await(names + " === 'idle-1,idle-2,owned,waited'")
	b.await("location.search === '?state=all' && document.querySelector('main select').value === 'all'")
	for state, want := range map[string]string{"waiting": "waited", "free": "idle-1,idle-2", "": "owned,waited"} {
		b.evaluate(fmt.Sprintf("(() => { const one = document.querySelector('main select'); one.value = %q; "+
			"one.dispatchEvent(new Event('input')); })()", state))
		b.await(names + " === '" + want + "'")
	}
	b.checkQuiet(st.url)
}

// showTraffic: the overview lists clients and nodes by their requests on all hosts.
func showTraffic(t *testing.T, b *browser) {
	st := newStage(t, false)
	if _, err := st.session("one").Semaphore("nightly", client.Limit(1)).Acquire(t.Context()); err != nil {
		t.Fatal(err)
	}
	b.visit(st.url + "/")
	table := func(what string) string {
		return fmt.Sprintf("[...document.querySelectorAll('section')].find((one) => "+
			"one.querySelector('h2')?.textContent === 'Requests by %s')", what)
	}
	columns := ".map((one) => one.textContent).join()"
	b.await("[...(" + table("client") + "?.querySelectorAll('th') ?? [])]" + columns +
		" === 'Client,Principal,Address,Requests,Share'")
	b.await(table("client") + ".innerText.includes('worker')")
	b.await("[..." + table("node") + ".querySelectorAll('th')]" + columns + " === 'Node,Requests,Share'")
	b.await("[..." + table("node") + ".querySelectorAll('tbody a')].some((one) => one.textContent === '" + node + "')")
	b.await(table("node") + ".innerText.includes('requests without a node')")
	b.awaitText("Over the last minute, from 3 of 3 hosts.")
	b.checkQuiet(st.url)
}

// showLeaderChanges: a shard's page lists a leader change, and a host's page has charts. Only hosts
// that are online and have a vote can become the leader: in a new cluster, not all hosts are online and voters at once.
func showLeaderChanges(t *testing.T, b *browser) {
	st := newStage(t, false)
	b.visit(st.url + "/shard?id=1")
	b.awaitText("3 / 3\nlive voters")
	b.await("[...document.querySelectorAll('h2')].at(-1).textContent === 'Leader changes'")
	rows := rowsUnder("When")
	before := b.evaluate(rows + ".length")
	leader := "document.querySelector('.tile b').textContent"
	want := map[string]string{"host-1": "host-2,host-3", "host-2": "host-1,host-3", "host-3": "host-1,host-2"}
	b.await(fmt.Sprintf("(() => { document.querySelector('dialog').close(); "+
		"[...document.querySelectorAll('main button')].find((one) => one.textContent === 'Move leader').click(); "+
		"return [...document.querySelectorAll('dialog [name=host] option')].map((one) => one.value)"+
		".join() === %q; })()",
		want[b.evaluate(leader)]))
	next := b.evaluate("document.querySelector('dialog [name=host]').value")
	b.fill("reason", "a test")
	b.await(fmt.Sprintf("%s === %q", leader, next))
	b.await(fmt.Sprintf("%s.length === %s + 1 && %s[0].innerText.includes(%q)", rows, before, rows, next))
	b.visit(st.url + "/host?name=host-2")
	b.await("document.querySelectorAll('.plot').length === 3")
	b.checkQuiet(st.url)
}

// filterByState: lists of sessions, rollouts and processes have a filter by state.
func filterByState(t *testing.T, b *browser) {
	st := newStage(t, false)
	st.objects()
	st.hang("hanging")
	for address, want := range map[string]string{
		"/rollouts?state=stuck": "dns", "/rollouts?state=idle": "", "/processes?state=stuck": "hanging",
		"/processes?state=forming": "rebalance", "/sessions?state=detached": "",
	} {
		b.visit(st.url + address)
		b.await("[...document.querySelectorAll('tbody tr')].map((one) => one.querySelector('a').textContent)" +
			".join() === '" + want + "' && !!document.querySelector('main select')?.value && " + drawn)
	}
	b.checkQuiet(st.url)
}

// nameHeads: the health issues on the overview have the usual column heads.
func nameHeads(t *testing.T, b *browser) {
	st := newStage(t, false)
	st.objects()
	b.visit(st.url + "/")
	b.await(heads(0) + " === 'Severity,Issue,Since,Waiting for,Action'")
	b.checkQuiet(st.url)
}
