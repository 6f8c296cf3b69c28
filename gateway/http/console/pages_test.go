package console_test

import (
	"fmt"
	"log/slog"
	"net/url"
	"path/filepath"
	"strings"
	"testing"

	"github.com/signalbox/signalbox/client"
	"github.com/signalbox/signalbox/client/admin"
	"github.com/signalbox/signalbox/client/rollout"
)

var testLog = slog.New(slog.DiscardHandler)

// TestInABrowser drives all pages in one browser.
func TestInABrowser(t *testing.T) {
	b := openBrowser(t)
	for _, c := range []struct {
		name string
		test func(*testing.T, *browser)
	}{
		{"a lock is handed over, and a session is ended", handOver},
		{"who has no token signs in", signIn},
		{"a rollout is approved, paused and resumed", pauseAndResume},
		{"a host dies and comes back", dieAndComeBack},
		{"where shards are is shown by hosts", showPlaces},
		{"slots are shown by shard and by host while they move", showSlots},
		{"the console is there again after a restart of its host", reconnect},
		{"every action is reached by keyboard", reachByKeyboard},
		{"a table of a hundred thousand rows is drawn in pages", drawLongTables},
		{"the load of all hosts is shown", showLoads},
		{"names in command lines are quoted", quoteNames},
		{"who gives up signing in is not asked again", giveUpSigningIn},
		{"a dialog that was closed does nothing to the next", leaveADialog},
		{"a value of several lines keeps them", keepLines},
		{"a host without a place for a stream says so", reportTooManyStreams},
		{"a tab that is not seen reads nothing", readNothingUnseen},
		{"what is stuck comes first, and is counted", showWhatIsStuck},
		{"order, page and filter are in the address", keepInTheAddress},
		{"every character is seen", showEveryCharacter},
		{"a slash goes to the search", goToTheSearch},
		{"an address without a page says so", sayThereIsNoPage},
		{"config and discovery have their own pages", keepLookupsApart},
		{"the namespace is a tree", growATree},
		{"roles are named as they are", nameRoles},
		{"plots begin in the past", plotThePast},
		{"a roll-back goes to the last version that all had", proposeTheWayBack},
		{"a rollout is drawn as stages", drawStages},
		{"what hangs behind the newest version is no good news", compareWithTheNewest},
		{"what is left counts down", countDown},
		{"a host and a shard have pages", openHostAndShard},
		{"failing instances come first with their last error", showLastErrors},
		{"a version is published and withdrawn", publishAndWithdraw},
		{"free semaphores are hidden", hideFreeSemaphores},
		{"a change of leader is listed", showLeaderChanges},
		{"requests are listed by client and by node", showTraffic},
		{"lists are filtered by state", filterByState},
		{"health issues have the usual heads", nameHeads},
		{"what is lost is said at once", sayWhatIsLost},
		{"pages fit every width and theme", fit},
	} {
		t.Run(c.name, func(t *testing.T) {
			b.T = t
			b.visit("about:blank") // the previous test's page polls a stopped host
			b.mu.Lock()
			b.problems, b.asked = nil, nil
			b.mu.Unlock()
			b.look("light", 1280)
			c.test(t, b)
		})
		b.T = t
	}
}

func handOver(t *testing.T, b *browser) {
	st := newStage(t, false)
	_, second, lease, granted := st.lock("nightly")
	b.visit(st.url + "/locks")
	b.awaitText("nightly")
	b.evaluate("document.querySelector('tbody a').click()")
	b.awaitText("Queue")
	b.await("document.querySelectorAll('tbody')[0]?.innerText.includes('one')")
	b.await("document.querySelectorAll('tbody')[1]?.innerText.includes('two')")
	if err := lease.Release(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := await(t, "the grant", granted); err != nil {
		t.Fatal(err)
	}
	b.await("document.querySelectorAll('tbody')[0]?.innerText.includes('two')")
	b.awaitText("No session waits.")
	b.click("End")
	b.awaitText("End the session of the second")
	b.await(fmt.Sprintf("!document.querySelector('dialog').innerText.includes('%d')", second.ID()))
	b.fill("reason", "a test")
	await(t, "the end of the session", second.Context().Done())
	b.awaitText("The semaphore is free.")
	b.visit(st.url + "/history")
	b.awaitText(fmt.Sprintf("session destroy: id %d", second.ID()))
	b.awaitText("a test")
	b.checkQuiet(st.url)
}

func signIn(t *testing.T, b *browser) {
	st := newStage(t, true)
	b.visit(st.url + "/locks")
	b.fill("token", "another token")
	b.await("document.querySelector('dialog').innerText.includes('token')")
	b.await("document.querySelector('dialog .note.bad')?.hidden === false")
	b.fill("token", token)
	b.awaitText("No semaphores. Acquire a lock")
	b.await("document.getElementById('sign').textContent === 'Sign out'")
	if cookie := b.evaluate("document.cookie"); cookie != "" {
		t.Errorf("a script sees the cookie %q", cookie)
	}
	b.evaluate("document.getElementById('sign').click()")
	b.await("!!document.querySelector('dialog[open] [name=token]')")
	b.await("document.getElementById('sign').textContent === 'Sign in'")
}

func pauseAndResume(t *testing.T, b *browser) {
	st := newStage(t, false)
	st.objects()
	b.visit(st.url + "/rollout?" + url.Values{"node": {node}, "name": {"dns"}}.Encode())
	b.awaitText("errors: pending")
	b.click("Approve")
	b.fill("reason", "it looks good")
	b.awaitText("errors: passed")
	b.awaitText("it looks good")
	for _, step := range []struct {
		word, next string
		phase      bool
	}{{"Pause", "Resume", true}, {"Resume", "Pause", false}} {
		b.click(step.word)
		b.fill("reason", "a test of "+step.word)
		b.awaitText("a test of " + step.word)
		b.await(fmt.Sprintf("[...document.querySelectorAll('main button')].some((one) => one.textContent === %q)",
			step.next))
		state, err := rollout.New(st.client, node, "dns").Describe(t.Context(), rollout.Consistency(client.Strict))
		if err != nil || state.Paused.Since.Happened != step.phase {
			t.Errorf("after %s: %+v %v", step.word, state, err)
		}
	}
	b.checkQuiet(st.url)
}

func dieAndComeBack(t *testing.T, b *browser) {
	st := newStage(t, false)
	b.visit(st.url + "/")
	b.awaitText("3 / 3")
	st.cluster.Crash(3, false)
	b.awaitText("2 / 3")
	// Missing hosts, and a cluster that tolerates no failure, are shown as warnings.
	b.await("[...document.querySelectorAll('.tile.warn')].map((one) => one.innerText.replaceAll('\\n', ' '))" +
		".join('; ') === " +
		"'2 / 3 live hosts; 0 more hosts can fail'")
	// The hosts page names silent replicas, and offers no action that would be refused: no host is drained.
	b.visit(st.url + "/hosts")
	b.awaitText("offline")
	b.await("document.querySelectorAll('.badge.bad').length === 3") // the host, and its replicas in two shards
	b.awaitText("host-3 voter, silent")
	if undrain := b.evaluate("document.querySelector('main').innerText.includes('Undrain')"); undrain != "false" {
		t.Error("a host that has failed is to be undrained")
	}
	b.visit(st.url + "/")
	if err := st.cluster.Restart(3); err != nil {
		t.Fatal(err)
	}
	b.awaitText("3 / 3")
	b.checkQuiet(st.url)
}

// showPlaces: only for data shards on some hosts. Silent hosts and missing replicas are highlighted.
func showPlaces(t *testing.T, b *browser) {
	st := newStage(t, false)
	b.visit(st.url + "/hosts")
	b.awaitText("complete")
	if shown := b.evaluate("document.querySelector('main').innerText.includes('Shards by host')"); shown != "false" {
		t.Error("places are shown where every host has every shard")
	}
	three := func(p *admin.Policy) { p.Replicas = 3 }
	if _, err := admin.New(st.client).SetPolicy(t.Context(), three, admin.ChangeInfo{}); err != nil {
		t.Fatal(err)
	}
	b.awaitText("Shards by host")
	b.await("[...document.querySelectorAll('.badge.good')].some((one) => one.innerText === '1 leads')")
	b.checkQuiet(st.url)
}

func showSlots(t *testing.T, b *browser) {
	st := newStage(t, false)
	b.visit(st.url + "/slots")
	const cells = "[...document.querySelectorAll('svg.slots rect:not(.moving)')]"
	b.await(cells + ".length === 64") // a line of the map has 64 slots, all in one shard
	b.click("Pause")
	b.fill("reason", "a test")
	b.awaitText("Rebalancing was paused by")
	b.click("Add shards")
	b.fill("reason", "more room")
	b.awaitText("2,048\nslots are to move")
	b.click("Resume")
	b.fill("reason", "a test")
	b.await(fmt.Sprintf("new Set(%s.map((one) => one.getAttribute('fill'))).size === 2", cells))
	b.awaitText("moved from shard 1 to shard 2")
	if text := b.evaluate("document.querySelector('main').innerText"); !strings.Contains(text, "serving") {
		t.Errorf("no phase is shown: %s", text)
	}
	b.click("By host")
	b.await("document.querySelector('svg.slots').getAttribute('aria-label').startsWith('4096 slots by host')")
	b.click("Pause")
	b.fill("reason", "a test")
	b.awaitText("Rebalancing was paused by")
	b.checkQuiet(st.url)
}

func reconnect(t *testing.T, b *browser) {
	st := newStage(t, false)
	_, _, lease, granted := st.lock("nightly")
	b.visit(st.url + "/semaphore?" + url.Values{"node": {node}, "name": {"nightly"}}.Encode())
	b.await("document.querySelectorAll('tbody')[1]?.innerText.includes('two')")
	st.server.Close()
	b.awaitText("This host does not answer.")
	b.save("disconnected")
	if err := lease.Release(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := await(t, "the grant", granted); err != nil {
		t.Fatal(err)
	}
	st.serve(strings.TrimPrefix(st.url, "http://"), false)
	b.await("document.querySelectorAll('tbody')[0]?.innerText.includes('two')")
	b.await("!document.body.innerText.includes('This host does not answer.')")
}

func reachByKeyboard(t *testing.T, b *browser) {
	st := newStage(t, false)
	_, _, _, _ = st.lock("nightly")
	b.visit(st.url + "/semaphore?" + url.Values{"node": {node}, "name": {"nightly"}}.Encode())
	const acts = "main button:not(.sort)"
	b.await("document.querySelectorAll('" + acts + "').length === 4") // Resize, Delete, and an End for each session
	b.evaluate("document.body.focus(); window.reached = new Set(); addEventListener('focusin', " +
		"({ target }) => reached.add(target.textContent + target.closest('tr')?.dataset.key))")
	for range 60 {
		b.press("Tab", "")
	}
	b.await("[...document.querySelectorAll('main button, main a')].every((one) => " +
		"reached.has(one.textContent + one.closest('tr')?.dataset.key))")
	b.evaluate("[...document.querySelectorAll('main button')].find((one) => one.textContent === 'Delete').focus()")
	b.press("Enter", "\r")
	b.await("document.activeElement?.name === 'reason'") // the dialog has the focus
	for _, letter := range "why" {
		b.press(string(letter), string(letter))
	}
	b.press("Enter", "\r")
	b.awaitText("the semaphore does not exist")
}

func drawLongTables(t *testing.T, b *browser) {
	st := newStage(t, false)
	b.visit(st.url + "/locks")
	b.awaitText("No semaphores. Acquire a lock")
	b.evaluate(`Promise.all([import("/dom.js"), import("/table.js")]).then(([{ replace, h }, { table }]) => {
		const rows = [...Array(100000).keys()], place = h("div", { id: "long" }), local = { given: {} };
		const draw = () => replace(place, h("div", {}, table(rows, [["n", (one) => one + 1, "", (one) => one]],
			{ key: (one) => one, local })));
		local.set = (values) => { Object.assign(local.given, values); draw(); };
		draw();
		document.body.append(place);
	})`)
	shown := func() string { return b.evaluate("document.querySelectorAll('#long tbody tr').length") }
	if got := shown(); got != "200" {
		t.Errorf("%s rows are drawn", got)
	}
	b.await("document.querySelector('#long .pager').innerText.includes('1 to 200 of 100000')")
	b.evaluate("[...document.querySelectorAll('#long button')].find((one) => one.textContent === 'Next').click()")
	b.await("document.querySelector('#long .pager').innerText.includes('201 to 400 of 100000')")
	if got := shown(); got != "200" || b.evaluate("document.querySelector('#long td').textContent") != "201" {
		t.Errorf("%s rows are drawn on the next page", got)
	}
	for _, first := range []string{"1", "100000"} { // ascending, then descending
		b.evaluate("document.querySelector('#long th button').click()")
		b.await(fmt.Sprintf("document.querySelector('#long td').textContent === %q", first))
	}
}

// drawn is true after a page shows its host's answer.
const drawn = "!document.querySelector('.bones') && document.querySelector('#link').textContent === 'live'"

// allPages returns all page addresses, by screenshot name.
func allPages(session uint64) map[string]string {
	at := func(path, name string) string {
		return path + "?" + url.Values{"node": {node}, "name": {name}}.Encode()
	}
	return map[string]string{
		"overview": "/", "locks": "/locks", "semaphore": at("/semaphore", "nightly"), "sessions": "/sessions",
		"session": fmt.Sprintf("/session?id=%d", session), "discovery": "/discovery",
		"endpoints": at("/endpoints", "web"),
		"configs":   "/configs", "config": at("/config", "limits"), "nodes": "/nodes?node=" + url.QueryEscape(node),
		"unknown":  "/nowhere",
		"rollouts": "/rollouts", "rollout": at("/rollout", "dns"), "processes": "/processes",
		"process": at("/process", "rebalance"), "hosts": "/hosts", "host": "/host?name=host-2",
		"shard": "/shard?id=1", "history": "/history", "backups": "/backups",
		"access": "/access", "search": "/search?query=n", "missing": at("/semaphore", "none"),
	}
}

// save saves a screenshot, if requested.
func (b *browser) save(name string) {
	b.Helper()
	if *shots != "" {
		b.shoot(filepath.Join(*shots, name+".png"))
	}
}

// checkQuiet checks that the page logs no complaints and sends no requests to other sites.
func (b *browser) checkQuiet(own string) {
	b.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, problem := range b.problems {
		b.Errorf("the page says %s", problem)
	}
	for _, address := range b.asked {
		if !strings.HasPrefix(address, own+"/") && !strings.HasPrefix(address, "data:") {
			b.Errorf("the page has asked for %s", address)
		}
	}
	if len(b.asked) == 0 {
		b.Error("no request was seen")
	}
}
