package console_test

import (
	"fmt"
	"net/url"
	"testing"
	"time"

	"github.com/signalbox/signalbox/client"
	"github.com/signalbox/signalbox/client/config"
	"github.com/signalbox/signalbox/client/discovery"
	"github.com/signalbox/signalbox/client/rollout"
)

// at is the address of an object's page.
func (st *stage) at(path, name string) string {
	return st.url + path + "?" + url.Values{"node": {node}, "name": {name}}.Encode()
}

// keepInTheAddress: order, page and filter survive a reload, and are part of a shared address.
func keepInTheAddress(t *testing.T, b *browser) {
	st := newStage(t, false)
	for i := range 250 {
		if err := st.client.Node(node).Create(t.Context(), fmt.Sprintf("lock-%03d", i), 1, nil); err != nil {
			t.Fatal(err)
		}
	}
	b.visit(st.url + "/locks?state=all")
	b.awaitText("1 to 200 of 250")
	first := func(name string) {
		t.Helper()
		b.await(fmt.Sprintf("document.querySelector('tbody a')?.textContent === %q", name))
	}
	sort := "document.querySelector('th button').click()"
	b.evaluate(sort)
	b.evaluate(sort)
	first("lock-249")
	b.await("document.querySelector('th').getAttribute('aria-sort') === 'descending'")
	b.click("Next")
	first("lock-049")
	b.await("location.search === '?state=all&sort=-semaphore&page=2'")
	b.evaluate("location.reload()")
	first("lock-049")
	b.visit(st.url + "/locks?state=all&sort=-semaphore&filter=lock-1")
	first("lock-199")
	b.evaluate("document.querySelector('tbody a').click()")
	b.awaitText("The semaphore is free.")
	b.evaluate("history.back()")
	first("lock-199")
	b.await("document.querySelector('main input')?.value === 'lock-1'")
	b.evaluate("document.querySelector('nav a[href=\"/sessions\"]').click()")
	b.await("document.querySelector('main input')?.value === ''") // the field belongs to another page
}

// showEveryCharacter: text from right to left, directions and controls change nothing around, and are seen.
func showEveryCharacter(t *testing.T, b *browser) {
	st := newStage(t, false)
	for _, description := range []string{"שלום 12", "a\u202egnp.exe", "x\u200by\x01z"} {
		st.session(description)
	}
	b.visit(st.url + "/sessions")
	b.await("document.querySelector('tbody bdi')?.textContent === 'שלום 12'")
	b.awaitText("a‹U+202E›gnp.exe")
	b.awaitText("x‹U+200B›y␁z")
	b.checkQuiet(st.url)
}

// goToTheSearch: a slash is enough, unless something is typed or asked.
func goToTheSearch(t *testing.T, b *browser) {
	st := newStage(t, false)
	if err := st.client.Node(node).Create(t.Context(), "nightly", 1, nil); err != nil {
		t.Fatal(err)
	}
	b.visit(st.url + "/locks?state=free")
	b.awaitText("nightly")
	b.evaluate("document.querySelector('main input').focus()")
	b.press("/", "/")
	b.await("document.querySelector('main input')?.value === '/'")
	b.evaluate("document.querySelector('main input').blur()")
	b.press("/", "/")
	b.await("document.activeElement.id === 'search-text' && document.activeElement.value === ''")
	b.press("n", "n")
	b.press("Enter", "\r")
	b.await("location.pathname === '/search'")
	b.awaitText("nightly")
}

// sayThereIsNoPage: an unknown address does not show the overview.
func sayThereIsNoPage(t *testing.T, b *browser) {
	st := newStage(t, false)
	b.visit(st.url + "/nowhere")
	b.await("document.querySelector('h1').textContent === 'Page not found'")
	b.await("document.title.startsWith('Page not found')")
	b.await("!document.querySelector('nav [aria-current]')")
	b.checkQuiet(st.url)
}

// keepLookupsApart: config and endpoints have their own pages, and are not listed as locks.
func keepLookupsApart(t *testing.T, b *browser) {
	st := newStage(t, false)
	if err := config.Put(t.Context(), st.client, node, "limits", []byte("a=1")); err != nil {
		t.Fatal(err)
	}
	s := st.session("web")
	if _, err := discovery.Register(t.Context(), s, "web", discovery.Endpoint{Address: "a.example:80"}); err != nil {
		t.Fatal(err)
	}
	b.visit(st.url + "/locks")
	b.awaitText("No semaphores. Acquire a lock")
	for list, want := range map[string]string{"/configs": "/config limits", "/discovery": "/endpoints web"} {
		b.visit(st.url + list)
		b.await("[...document.querySelectorAll('tbody tr')].map((one) => one.querySelector('a')).map((one) => " +
			"one.pathname + ' ' + one.textContent).join() === '" + want + "'")
	}
	b.evaluate("document.querySelector('tbody a').click()")
	b.await("['a.example:80', 'a=1'].some((one) => document.querySelector('main').innerText.includes(one))")
}

// growATree: the namespace is a tree with each node's contents.
func growATree(t *testing.T, b *browser) {
	st := newStage(t, false)
	for i := range 70 { // more than are shown open
		if _, err := st.client.CreateNode(t.Context(), fmt.Sprintf("/test/n%d", i), client.NodeConfig{}); err != nil {
			t.Fatal(err)
		}
	}
	if err := st.client.Node(node).Create(t.Context(), "nightly", 1, nil); err != nil {
		t.Fatal(err)
	}
	entries := "[...document.querySelectorAll('.tree a')].map((one) => one.textContent).join()"
	b.visit(st.url + "/nodes")
	b.await(entries + " === 'prod,test'")
	b.evaluate("document.querySelector('.tree a').click()")
	b.await(entries + " === 'prod,jobs,test'")
	b.evaluate("document.querySelectorAll('.tree a')[1].click()")
	b.awaitText("nightly")
	b.await("document.querySelector('.tree [aria-current]').textContent === 'jobs'")
	b.visit(st.url + "/nodes?filter=N69")
	b.await(entries + " === 'test,n69'")
}

// nameRoles: the dialog offers the existing roles.
func nameRoles(t *testing.T, b *browser) {
	st := newStage(t, false)
	b.visit(st.url + "/access")
	b.click("Grant a role")
	b.await("[...document.querySelectorAll('dialog [name=role] option')].map((one) => one.value).join() === " +
		"'read,write,operator,admin,root'")
	b.evaluate("document.querySelector('dialog').close()")
	b.awaitText("Predefined: read, write, operator, admin, root.")
}

// plotThePast: a newly opened page shows the last minutes.
func plotThePast(t *testing.T, b *browser) {
	st := newStage(t, false)
	b.visit(st.url + "/")
	b.await("document.querySelectorAll('.plot').length >= 3")
	b.await("[...document.querySelectorAll('.plot .axis')].every((one) => one.innerText.includes('10 min ago'))")
	b.await("!document.body.innerText.includes('one reading so far')")
	// A line has a gap for times without a measurement, and the newest reading is at the right edge.
	b.evaluate(`import("/plot.js").then(({ plot }) => {
		const minute = 60000, lines = [["now", [1, 2, 3, 4]]];
		const drawn = plot("x", "y", lines, [0, minute, 5 * minute, 6 * minute]);
		window.drawn = [...drawn.querySelectorAll("path:not(.area)")]
			.map((one) => one.getAttribute("d"));
	})`)
	b.evaluate(`import("/plot.js").then(({ plot }) => {
		window.axis = plot("x", "y", [["now", [1, 2]]], [0, 3000000]).querySelector(".axis").textContent;
	})`)
	b.await("axis.startsWith('1 h ago')") // with more than ten minutes, the plot shows an hour
	b.await("drawn.length === 2 && drawn[0].startsWith('M240.0') && /L600.0 [0-9.]+$/.test(drawn[1])")
}

// showWhatIsStuck: a blocked rollout and a hanging round come first on the overview, and menu, title and icon count
// them on every page. In their lists they are not green, and have a reason and an age.
func showWhatIsStuck(t *testing.T, b *browser) {
	st := newStage(t, false)
	b.visit(st.url + "/")
	b.awaitText("Healthy.")
	b.await("document.title === 'Overview · Signalbox' && !document.querySelector('nav .count')")
	st.objects()
	issues := "document.querySelector('main section.health-issues tbody')?.innerText"
	b.await(issues + "?.includes('rollout dns in " + node + "')")
	b.await("document.querySelector('main section.health-issues').compareDocumentPosition(" +
		"document.querySelector('.tiles')) === Node.DOCUMENT_POSITION_FOLLOWING")
	b.await("document.title.startsWith('(1) Overview')")
	st.hang("rebalance")
	b.await(issues + "?.includes('process rebalance in " + node + "')")
	b.await("document.title.startsWith('(2) Overview')")
	b.await("document.querySelector('link[rel=icon]').getAttribute('href') === '/warn.svg'")
	b.evaluate("[...document.querySelectorAll('main section.health-issues a')]" +
		".find((one) => one.textContent.includes('dns')).click()")
	b.await("location.pathname === '/rollout' && document.querySelector('h1').textContent === 'dns'")
	for list, kind := range map[string]string{"/rollouts": "dns", "/processes": "rebalance"} {
		b.visit(st.url + list)
		b.await(fmt.Sprintf("document.querySelector('nav a[href=%q] .count')?.textContent === '1'", list))
		row := fmt.Sprintf("[...document.querySelectorAll('tbody tr')].find((one) => one.innerText.includes(%q))", kind)
		b.await("!!" + row + "?.querySelector('.badge.bad') && !" + row + ".querySelector('.badge.good')")
		b.await("!!" + row + "?.querySelector('.below time')")
	}
	b.visit(st.at("/process", "rebalance"))
	b.await("!!document.querySelector('main .badge.bad')")
	b.await("/ for \\d/.test(document.querySelector('main .note.bad')?.innerText)")
	b.checkQuiet(st.url)
}

// proposeTheWayBack: the newest version that all locations had, but never the version being left.
func proposeTheWayBack(t *testing.T, b *browser) {
	st := newStage(t, false)
	st.objects()
	b.visit(st.at("/rollout", "dns"))
	b.await(drawn)
	for _, c := range []struct{ name, targets, past, want string }{
		{"one location has the newest", "3 2", "SAS1 SAS2 MAN1 MAN2", "2: 2,1"},
		{"not all had the one before", "3 1", "SAS1 SAS2 MAN1", "1: 2,1"},
		{"all have the newest", "3 3", "SAS1 SAS2 SAS3 MAN1 MAN2 MAN3", "2: 2,1"},
		{"no version was everywhere", "2 0", "SAS1", "undefined: 1"},
		{"there is one version", "1 1", "SAS1 MAN1", "undefined: "},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := b.evaluate(fmt.Sprintf(`import("/pages/rollouts.js").then(({ waysBack }) => {
				const names = ["SAS", "MAN"], reached = { set: true };
				const locations = %q.split(" ").map((version, i) => ({ name: names[i], target: { version } }));
				const past = %q.split(" ").map((one) =>
					({ location: one.slice(0, 3), version: one.slice(3), reached }));
				const versions = ["1", "2", "3"].map((version) => ({ version }));
				const { older, last } = waysBack({ locations, versions }, past);
				return last?.version + ": " + older.map((one) => one.version).join();
			})`, c.targets, c.past))
			if got != c.want {
				t.Errorf("%s, want %s", got, c.want)
			}
		})
	}
}

// compareWithTheNewest: a location with an older version is not green, and a location that an operator overrode does
// not count as a location with the version.
func compareWithTheNewest(t *testing.T, b *browser) {
	st := newStage(t, false)
	web := rollout.New(st.client, node, "web")
	publish := func(label string) {
		t.Helper()
		if _, err := web.Publish(t.Context(), []byte(label), rollout.Label(label)); err != nil {
			t.Fatal(err)
		}
	}
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	spec := rollout.Spec{Locations: []rollout.Location{{Name: "SAS"}, {Name: "MAN", Delay: time.Hour}}}
	must(web.Create(t.Context(), spec, rollout.ChangeInfo{}))
	publish("one")
	must(st.reach(st.session("web"), "web"))
	const stage = "document.querySelector('.stage')?"
	const tiles = "document.querySelector('.tiles')?.innerText.replaceAll('\\n', ' ')"
	b.visit(st.at("/rollout", "web"))
	b.await(stage + ".className.includes('good')")
	b.await(tiles + ".includes('1 / 2 locations with the version')")
	must(web.Pause(t.Context(), rollout.ChangeInfo{}))
	publish("two")
	b.await(stage + ".className === 'stage warn'")
	b.await(stage + ".innerText.includes('not two yet')")
	b.await(tiles + ".includes('0 / 2 locations with the version')")
	for range 2 { // the second time the unreached targets count as reached
		must(web.Promote(t.Context(), rollout.ChangeInfo{}, 2))
	}
	b.await(stage + ".innerText.includes('overridden')")
	b.await(stage + ".className === 'stage warn'")
	b.await("document.querySelectorAll('.stage .badge.good').length === 0")
	b.await(tiles + ".includes('0 / 2 locations with the version')")
	b.visit(st.url + "/rollouts")
	b.awaitText("0 of 2 have it")
	b.checkQuiet(st.url)
}

// drawStages: locations stand in their order with their version and their reason to wait, and publishes with their
// results. A given-up version has no bar, but a reason.
func drawStages(t *testing.T, b *browser) {
	st := newStage(t, false)
	s := st.session("web")
	spec := rollout.Spec{Locations: []rollout.Location{{Name: "SAS"}, {Name: "MAN", Delay: time.Hour}}}
	web := rollout.New(st.client, node, "web")
	publish := func(label string) {
		t.Helper()
		if _, err := web.Publish(t.Context(), []byte(label), rollout.Label(label), rollout.Author("ann")); err != nil {
			t.Fatal(err)
		}
	}
	if err := web.Create(t.Context(), spec, rollout.ChangeInfo{}); err != nil {
		t.Fatal(err)
	}
	publish("one")
	if err := st.reach(s, "web"); err != nil {
		t.Fatal(err)
	}
	second := rollout.Instance{Name: "b.man", Location: "MAN"}
	if _, err := rollout.Join(t.Context(), st.session("man"), "web", second); err != nil {
		t.Fatal(err)
	}
	b.visit(st.at("/rollout", "web"))
	b.await("[...document.querySelectorAll('.stage h3')].map((one) => one.textContent).join() === 'SAS,MAN'")
	b.await("document.querySelector('.stage .version').textContent === 'one'")
	b.await("document.querySelector('.stage').innerText.includes('has it')")
	b.await("document.querySelectorAll('.stage')[1].innerText.includes('in 59 min')") // the delay counts down
	b.await("[...document.querySelectorAll('tbody tr')].some((one) => /publish.*one.*ann/s.test(one.innerText))")
	publish("two")
	b.await("document.querySelector('.stage .version').textContent === 'two'")
	b.await("!!document.querySelector('.stage progress')")
	b.click("Roll back")
	b.await("document.querySelector('dialog').innerText.includes('No earlier version was in all locations.')")
	b.await("document.querySelector('dialog [name=version]').value === ''")
	b.evaluate("document.querySelector('dialog').close()")
	b.click("Abort")
	b.fill("reason", "a fault")
	b.await("document.querySelector('.stage').innerText.includes('given up')")
	b.await("!document.querySelector('.stage progress')")
	b.await("[...document.querySelectorAll('h2')].some((one) => one.textContent === 'Given up')")
	b.checkQuiet(st.url)
}

// countDown: the remaining time decreases without a reload.
func countDown(t *testing.T, b *browser) {
	st := newStage(t, false)
	b.visit(st.url + "/locks")
	b.await(drawn)
	b.evaluate(fmt.Sprintf(`import("/dom.js").then(({ until }) => {
		window.time = until(Date.now() + %d);
		const main = document.createElement("main");
		main.append(time);
		document.body.append(main);
		window.first = time.textContent;
	})`, (19*time.Minute + 10*time.Second).Milliseconds()))
	b.await("first === 'in 19 min 10 s'")
	b.await("/^in 19 min [0-9] s$/.test(time.textContent)")
}

// sayWhatIsLost: a missing object is reported once. Without a majority no page looks as if it were loading, and the
// overview names the loss.
func sayWhatIsLost(t *testing.T, b *browser) {
	st := newStage(t, false)
	b.visit(st.at("/rollout", "none"))
	b.awaitText("The rollout does not exist.")
	b.evaluate("document.querySelector('nav a[href=\"/\"]').click()")
	b.awaitText("Healthy.")
	b.evaluate("history.back()")
	b.awaitText("The rollout does not exist.")
	b.await("!document.body.textContent.includes('Not shown')")
	st.cluster.Crash(2, false)
	st.cluster.Crash(3, false)
	b.visit(st.url + "/locks")
	b.awaitText("Unavailable")
	b.visit(st.url + "/")
	b.awaitText("host-3 did not report its health issues")
	b.await("!document.querySelector('.bones')")
	b.await("document.querySelector('link[rel=icon]').getAttribute('href') === '/bad.svg'")
}
