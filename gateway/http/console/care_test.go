package console_test

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/signalbox/signalbox/client"
	"github.com/signalbox/signalbox/client/config"
	"github.com/signalbox/signalbox/server"
	"github.com/signalbox/signalbox/shard"
)

// showLoads: the overview shows the hosts' total load and the worst host, the page of hosts each host. A host without a
// report does not look idle.
func showLoads(t *testing.T, b *browser) {
	st := newStage(t, false)
	report := func(id shard.HostID, requests uint64, p99 time.Duration, free uint64) {
		st.cluster.Host(id).ReportLoad(server.Load{
			Span: 5 * time.Second, Requests: requests, Failed: requests / 100, P99: p99, DiskFree: free,
			DiskTotal: 100 << 30,
		})
	}
	report(1, 1500, 3*time.Millisecond, 50<<30)
	report(2, 500, 8*time.Millisecond, 5<<30)
	report(3, 100, time.Millisecond, 70<<30)
	b.visit(st.url + "/")
	b.awaitText("420\nrequests a second")
	b.awaitText("4.2\nfailed requests a second")
	b.awaitText("8\nms, p99 of the slowest host")
	b.awaitText("5.0\nGB free on the fullest disk")
	b.awaitText("All hosts")
	b.await("[...document.querySelectorAll('figure')].some((one) => one.innerText.includes('420 /s'))")
	b.visit(st.url + "/hosts")
	row := func(of string) string {
		return fmt.Sprintf("[...document.querySelectorAll('tbody tr')].find((one) => "+
			"one.innerText.includes(%q))?.innerText.replaceAll('\\t', ' ')", of)
	}
	b.await(row("100 /s") + ".includes('8 ms')")
	b.await(row("20 /s") + ".includes('70.0 GB')")
	b.checkQuiet(st.url)
}

// quoteNames: pasted into a shell, a command runs no part of a name.
func quoteNames(t *testing.T, b *browser) {
	st := newStage(t, false)
	const name = "it's; <b>true</b> $(id)"
	if _, err := st.session("x").Semaphore(name, client.Limit(1)).Acquire(t.Context()); err != nil {
		t.Fatal(err)
	}
	b.visit(st.url + "/semaphore?" + url.Values{"node": {node}, "name": {name}}.Encode())
	b.awaitText(`signalbox semaphore describe /prod/jobs 'it'\''s; <b>true</b> $(id)'`)
	b.await(fmt.Sprintf("document.querySelector('h1').textContent === %q", name))
}

// giveUpSigningIn: after closing the dialog the user is not asked again, but can reopen it.
func giveUpSigningIn(t *testing.T, b *browser) {
	st := newStage(t, true)
	b.visit(st.url + "/locks")
	b.await("!!document.querySelector('dialog[open] [name=token]')")
	b.evaluate("document.querySelector('dialog').close()")
	streams := func() (n int) {
		b.mu.Lock()
		defer b.mu.Unlock()
		for _, asked := range b.asked {
			if strings.Contains(asked, "/v1/events") {
				n++
			}
		}
		return n
	}
	before := streams() // each try is a stream and a question about its failure
	for end := time.After(patience); streams() < before+4; {
		select {
		case <-b.asks:
		case <-end:
			t.Fatal("the page does not try again")
		}
	}
	b.await("!document.querySelector('dialog[open]')")
	b.evaluate("document.getElementById('sign').click()")
	b.fill("token", token)
	b.awaitText("No semaphores. Acquire a lock")
}

// leaveADialog: work begun in a closed dialog does not affect the next dialog.
func leaveADialog(t *testing.T, b *browser) {
	st := newStage(t, false)
	b.visit(st.url + "/locks")
	b.await(drawn)
	b.evaluate(`import("/ask.js").then(({ ask }) => {
		const carryOut = () => new Promise((resolve) => { window.carriedOut = resolve; });
		const one = { title: "One", does: "", word: "Do", carryOut };
		window.first = ask(one);
		document.querySelector("dialog button[type=submit]").click();
		document.querySelector("dialog").close();
		return window.first.then(() => { ask({ ...one, title: "Two" }); });
	})`)
	b.await("document.querySelector('dialog[open] h1')?.textContent === 'Two'")
	b.evaluate("carriedOut(); new Promise((resolve) => setTimeout(resolve))")
	b.await("document.querySelector('dialog[open] h1')?.textContent === 'Two'")
}

// keepLines: a value of several lines keeps them after another line is added.
func keepLines(t *testing.T, b *browser) {
	st := newStage(t, false)
	if err := config.Put(t.Context(), st.client, node, "limits", []byte("a=1\nb=2\n")); err != nil {
		t.Fatal(err)
	}
	b.visit(st.url + "/config?" + url.Values{"node": {node}, "name": {"limits"}}.Encode())
	b.click("Change")
	b.evaluate("document.querySelector('dialog [name=value]').value += 'c=3\\n'")
	b.fill("reason", "a test")
	b.awaitText("c=3")
	value, _, err := config.Get(t.Context(), st.client, node, "limits")
	if err != nil || string(value) != "a=1\nb=2\nc=3\n" {
		t.Errorf("the value is %q, %v", value, err)
	}
}

// reportTooManyStreams: a host without room for another stream does not look gone.
func reportTooManyStreams(t *testing.T, b *browser) {
	st := newStage(t, false)
	const places = 1024 // for all callers together
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	for range places {
		r, err := http.NewRequestWithContext(ctx, http.MethodGet, st.url+"/v1/events?watch=/v1/contention", nil)
		if err != nil {
			t.Fatal(err)
		}
		answer, err := http.DefaultClient.Do(r)
		if err != nil || answer.StatusCode != http.StatusOK {
			t.Fatalf("%v %v", answer, err)
		}
		defer answer.Body.Close()
	}
	b.visit(st.url + "/locks")
	b.awaitText("too many waiting requests or open event streams")
	b.await("!document.body.innerText.includes('This host does not answer.')")
	cancel()
	b.awaitText("No semaphores. Acquire a lock")
}

// readNothingUnseen: a tab opened in the background begins to read when it is shown.
func readNothingUnseen(t *testing.T, b *browser) {
	st := newStage(t, false)
	b.visit(st.url + "/icon.svg")
	var script struct{ Identifier string }
	b.into("Page.addScriptToEvaluateOnNewDocument", map[string]any{"source": "window.unseen = true; " +
		"Object.defineProperty(document, 'hidden', { get: () => window.unseen });"}, &script)
	defer b.do("Page.removeScriptToEvaluateOnNewDocument", map[string]any{"identifier": script.Identifier})
	b.visit(st.url + "/locks")
	b.await("document.querySelector('h1')?.textContent === 'Locks'")
	b.evaluate("new Promise((resolve) => setTimeout(resolve))") // the page has begun all its work
	b.mu.Lock()
	for _, asked := range b.asked {
		if strings.Contains(asked, "/v1/events") {
			t.Errorf("it has asked for %s", asked)
		}
	}
	b.mu.Unlock()
	b.evaluate("window.unseen = false; document.dispatchEvent(new Event('visibilitychange'))")
	b.awaitText("No semaphores. Acquire a lock")
}
