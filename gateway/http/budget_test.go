package http

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/signalbox/signalbox/client"
	"github.com/signalbox/signalbox/client/discovery"
	"github.com/signalbox/signalbox/gateway/operation"
	"github.com/signalbox/signalbox/internal/fairshare"
)

// fill creates n semaphores with 60 KiB of data each.
func (d *door) fill(semaphores int) {
	d.Helper()
	data := []byte(strings.Repeat("x", 60<<10))
	for i := range semaphores {
		if err := d.client.Node("/a").Create(d.Context(), fmt.Sprintf("s%04d", i), 1, data); err != nil {
			d.Fatal(err)
		}
	}
}

// largeList is the address of fill's semaphores.
const largeList = "/v1/semaphores?node=/a&data=true&limit=10000"

// answersTake is how much memory answers take by the metrics.
func (d *door) answersTake() (bytes int) {
	var text strings.Builder
	d.WriteMetrics(&text)
	_, count, _ := strings.Cut(text.String(), "signalbox_http_answer_bytes ")
	_, _ = fmt.Sscan(count, &bytes)
	return bytes
}

// TestAListThatIsLargerThanAllAnswersTogetherIsReadInPages of at most 4 MiB, each semaphore once.
func TestAListThatIsLargerThanAllAnswersTogetherIsReadInPages(t *testing.T) {
	d := newDoor(t, nil, nil)
	const semaphores = 400 // 24 MiB
	d.stage.gateway.answers.limit = 20 << 20
	d.fill(semaphores)
	read, pages := 0, 0
	for cursor := ""; ; pages++ {
		r := d.get(largeList + "&cursor=" + url.QueryEscape(cursor))
		var page struct {
			Items  []struct{ Name, Data string }
			More   bool
			Cursor string
		}
		r.in(t, &page)
		if len(r.text) > 4<<20+100 {
			t.Fatalf("page %d has %d bytes", pages, len(r.text))
		}
		for _, item := range page.Items {
			if want := fmt.Sprintf("s%04d", read); item.Name != want || len(item.Data) != 60<<10 {
				t.Fatalf("item %d is %s with %d bytes, want %s", read, item.Name, len(item.Data), want)
			}
			read++
		}
		if page.More != (page.Cursor != "") {
			t.Fatalf("page %d: more %t, cursor %q", pages, page.More, page.Cursor)
		}
		if cursor = page.Cursor; !page.More {
			break
		}
	}
	if read != semaphores || pages < 6 {
		t.Errorf("%d semaphores in %d pages", read, pages+1)
	}
}

// TestUnreadAnswersAreBoundedTogether: 60 clients ask for a long list and read only the first bytes. Pages get shorter,
// and the memory is free once the clients have gone.
func TestUnreadAnswersAreBoundedTogether(t *testing.T) {
	d := newDoor(t, nil, nil)
	const limit = 24 << 20
	d.stage.gateway.answers.limit = limit
	d.fill(200)
	answers := make(chan *http.Response)
	for i := range 60 {
		c, err := d.from(fmt.Sprintf("127.0.2.%d", 1+i%2))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { c.Close() })
		if err := c.(*net.TCPConn).SetReadBuffer(1 << 12); err != nil { // else systems buffer it
			t.Fatal(err)
		}
		go func() {
			_, _ = io.WriteString(c, "GET "+largeList+" HTTP/1.1\r\nHost: localhost\r\n\r\n")
			answer, _ := http.ReadResponse(bufio.NewReaderSize(c, 16), nil)
			answers <- answer
			<-t.Context().Done()
			c.Close()
		}()
	}
	served, most := 0, 0
	for range 60 {
		if answer := <-answers; answer != nil && answer.StatusCode == http.StatusOK {
			served++
		}
		most = max(most, d.answersTake())
	}
	if served == 0 || most > limit || most < limit/8 {
		t.Errorf("%d were served, and answers took %d bytes of %d", served, most, limit)
	}
}

// TestARequestWithoutMemoryForItsAnswerIsRefused with a problem that names the time for a retry; the retry succeeds.
// Changes need no memory, and all memory is given back.
func TestARequestWithoutMemoryForItsAnswerIsRefused(t *testing.T) {
	st := newStage(t, nil)
	st.node("/a")
	b := st.gateway.answers
	var held []*room
	for _, other := range []string{"one", "two"} {
		taken, err := b.reserve(t.Context(), fairshare.Party{Token: other}, int(b.limit/2))
		if err != nil {
			t.Fatal(err)
		}
		held = append(held, taken)
	}
	for _, address := range []string{"/v1/nodes", "/v1/cluster", "/v1/election/leader?node=/a&name=l"} {
		r := st.get(address)
		if r.code != http.StatusTooManyRequests || r.header.Get("Retry-After") != "1" ||
			r.header.Get("Content-Type") != problemType || !strings.Contains(r.text,
			`"signalbox_status":"OVERLOADED"`) ||
			!strings.Contains(r.text, `"retry_after_ms":1000`) {
			t.Errorf("%s: %d %v %s", address, r.code, r.header, r.text)
		}
	}
	st.node("/b")
	if b.refused.Load() != 3 || b.bytes() != b.limit {
		t.Errorf("%d were refused, and %d of %d bytes are taken", b.refused.Load(), b.bytes(), b.limit)
	}
	for _, taken := range held {
		taken.leave()
	}
	if r := st.get("/v1/nodes"); r.code != http.StatusOK {
		t.Errorf("with memory: %d %s", r.code, r.text)
	}
	await(t, "all memory is given back", func() bool { return b.bytes() == 0 })
}

func byToken(token string) fairshare.Party { return fairshare.Party{Token: token} }

// TestASlowReaderIsCutIfAnotherNeedsTheMemory, and not before.
func TestASlowReaderIsCutIfAnotherNeedsTheMemory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := &budget{limit: 200}
		var cut []string
		var readers sync.WaitGroup
		open := func(name string) {
			r, err := b.reserve(t.Context(), byToken(name), 90)
			if err != nil {
				t.Fatal(err)
			}
			gone := make(chan struct{})
			r.read(sync.OnceFunc(func() { cut = append(cut, name); close(gone) }))
			readers.Go(func() { <-gone; r.leave() })
		}
		open("first")
		time.Sleep(slowReader / 4)
		open("second")
		_, err := b.reserve(t.Context(), byToken("another"), 60)
		if problemCode(err) != http.StatusTooManyRequests || cut != nil {
			t.Errorf("while no reader is slow: %v, %v are cut", err, cut)
		}
		time.Sleep(slowReader / 4)
		if _, err := b.reserve(t.Context(), byToken("another"), 60); err != nil || fmt.Sprint(cut) != "[first]" {
			t.Errorf("%v, %v are cut", err, cut)
		}
		time.Sleep(slowReader)
		if _, err := b.reserve(t.Context(), byToken("another"), 40); err != nil || fmt.Sprint(cut) != "[first]" {
			t.Errorf("with memory for it: %v, %v are cut", err, cut)
		}
		if _, err := b.reserve(t.Context(), byToken("one more"), 40); err != nil {
			t.Error(err)
		}
		readers.Wait()
		if b.used != 140 {
			t.Errorf("%d bytes are taken", b.used)
		}
	})
}

// TestAPartyHasHalfOfTheMemory; memory given back goes to a waiting request.
func TestAPartyHasHalfOfTheMemory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := &budget{limit: 100}
		first, err := b.reserve(t.Context(), byToken("one"), 40)
		if err != nil || !first.Grow(10) || first.Grow(1) {
			t.Fatalf("%v, %d bytes", err, b.used)
		}
		if _, err := b.reserve(t.Context(), byToken("two"), 50); err != nil {
			t.Errorf("the other half: %v", err)
		}
		time.AfterFunc(roomWait/2, first.leave)
		if _, err := b.reserve(t.Context(), byToken("one"), 50); err != nil {
			t.Errorf("what is given back: %v", err)
		}
		if _, err := b.reserve(t.Context(), byToken("three"), 1); problemCode(err) != http.StatusTooManyRequests ||
			b.refused.Load() != 1 {
			t.Errorf("without memory: %v", err)
		}
	})
}

// TestAddressesTakeTurnsForMemory: one address with a token has many requests waiting for memory. Another address's
// request with the same token gets memory after one of them, and a request with another token at once.
func TestAddressesTakeTurnsForMemory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := &budget{limit: 100}
		from := func(token string, address byte) fairshare.Party {
			from := netip.AddrFrom4([4]byte{127, 0, 0, address})
			return fairshare.Party{Token: token, Address: fairshare.Network(from)}
		}
		first, err := b.reserve(t.Context(), from("one", 1), 50)
		if err != nil {
			t.Fatal(err)
		}
		var mu sync.Mutex
		var served []byte
		ask := func(token string, address byte) {
			go func() {
				r, err := b.reserve(t.Context(), from(token, address), 50)
				if err != nil {
					t.Error(err)
					return
				}
				mu.Lock()
				served = append(served, address)
				mu.Unlock()
				time.Sleep(time.Millisecond)
				r.leave()
			}()
			synctest.Wait()
		}
		for range 20 {
			ask("one", 1)
		}
		ask("one", 2)
		ask("two", 3)
		first.leave()
		time.Sleep(roomWait / 2)
		mu.Lock()
		defer mu.Unlock()
		if len(served) != 22 || fmt.Sprint(served[:3]) != "[3 1 2]" {
			t.Errorf("memory went to %v", served)
		}
	})
}

// TestAnAnswerThatIsNoListReservesWhatHostsSend: a large piece of config is refused without enough memory, also in a
// stream. Finding the leader in a crowd of owners takes memory for one owner.
func TestAnAnswerThatIsNoListReservesWhatHostsSend(t *testing.T) {
	st := newStage(t, nil)
	st.node("/a")
	ctx, data := t.Context(), []byte(strings.Repeat("x", 60<<10))
	if err := st.client.Node("/a").Create(ctx, "large", 1, data); err != nil {
		t.Fatal(err)
	}
	for range 20 {
		s, err := st.client.Session(ctx, "/a")
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close(ctx)
		if _, err := s.Semaphore("crowd", client.Limit(100)).Acquire(ctx, client.Data(data)); err != nil {
			t.Fatal(err)
		}
	}
	b := st.gateway.answers
	enough := b.limit
	b.limit = 2 * firstBytes
	for _, address := range []string{"/v1/config?node=/a&name=large", "/v1/election/leader?node=/a&name=crowd"} {
		if r := st.get(address); r.code != http.StatusTooManyRequests || !strings.Contains(r.text, "OVERLOADED") {
			t.Errorf("%s without memory: %d %.100s", address, r.code, r.text)
		}
		if _, text := st.watch("", address).next(); !strings.Contains(text, "OVERLOADED") {
			t.Errorf("%s without memory, in a stream: %.100s", address, text)
		}
	}
	b.limit = 2 * (firstBytes + 3*70<<10)
	for _, address := range []string{"/v1/config?node=/a&name=large", "/v1/election/leader?node=/a&name=crowd"} {
		if r := st.get(address); r.code != http.StatusOK || len(r.text) < len(data) {
			t.Errorf("%s: %d %.100s", address, r.code, r.text)
		}
	}
	b.limit = enough
	await(t, "all memory is given back", func() bool { return b.bytes() == 0 })
}

// TestAnAnswerWaitsForAllThatItNeeds: the hosts' data does not fit in the remaining memory. The request waits, and is
// answered when another answer has left.
func TestAnAnswerWaitsForAllThatItNeeds(t *testing.T) {
	d := newDoor(t, nil, nil)
	d.fill(3)
	b := d.stage.gateway.answers
	for _, address := range []string{largeList, "/v1/config?node=/a&name=s0001"} {
		first := fairshare.Party{Address: fairshare.Network(netip.MustParseAddr("127.0.0.1"))}
		other, err := b.reserve(t.Context(), first, int(b.limit/2-firstBytes))
		if err != nil {
			t.Fatal(err)
		}
		answered := make(chan reply)
		go func() { answered <- d.get(address) }()
		await(t, "the request waits", func() bool {
			b.mu.Lock()
			defer b.mu.Unlock()
			return !b.waiting.Empty()
		})
		other.leave()
		if r := <-answered; r.code != http.StatusOK || len(r.text) < 60<<10 {
			t.Errorf("%s: %d %.100s", address, r.code, r.text)
		}
	}
}

// TestOwnersAndEndpointsComeInPages: together the pages equal the client's list, in its order.
func TestOwnersAndEndpointsComeInPages(t *testing.T) {
	st := newStage(t, nil)
	st.node("/a")
	ctx := t.Context()
	for i := range 9 {
		s, err := st.client.Session(ctx, "/a")
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close(ctx)
		e := discovery.Endpoint{Address: fmt.Sprintf("host-%d:80", i), Metadata: map[string]string{"n": fmt.Sprint(i)}}
		if _, err := discovery.Register(ctx, s, "api", e); err != nil {
			t.Fatal(err)
		}
	}
	found, err := st.client.Node("/a").Describe(ctx, "api", client.WithOwners(), client.WithWaiters())
	if err != nil {
		t.Fatal(err)
	}
	var want []string
	for i := range found.Owners {
		want = append(want, fmt.Sprint(found.Owners[i].OrderID))
	}
	for address, part := range map[string]string{
		"/v1/semaphore?node=/a&name=api": "owners", "/v1/semaphore/owners?node=/a&name=api": "owners",
		"/v1/endpoints?node=/a&name=api": "endpoints",
	} {
		for _, limit := range []int{1, 4, 9, 100} {
			var got []string
			for cursor := ""; ; {
				var page map[string]json.RawMessage
				st.get(fmt.Sprintf("%s&limit=%d&cursor=%s", address, limit, cursor)).in(t, &page)
				var items []struct {
					Fence   string
					OrderID string `json:"order_id"`
				}
				var more bool
				_, _ = json.Unmarshal(page[part], &items), json.Unmarshal(page["more"], &more)
				for _, item := range items {
					got = append(got, item.Fence+item.OrderID) // owners have a fence, endpoints an order id
				}
				cursor = strings.Trim(string(page["cursor"]), `"`)
				if len(items) > limit || more != (cursor != "") {
					t.Fatalf("%s by %d: %d items, more %t, cursor %q", address, limit, len(items), more, cursor)
				}
				if !more {
					break
				}
			}
			if fmt.Sprint(got) != fmt.Sprint(want) {
				t.Errorf("%s by %d: %v, want %v", address, limit, got, want)
			}
		}
	}
}

// TestAStreamOfALongListShowsItsFirstPage and a mark for the rest. Texts count while streams hold them.
func TestAStreamOfALongListShowsItsFirstPage(t *testing.T) {
	d := newDoor(t, nil, nil)
	d.fill(100)
	e := d.watch("", largeList)
	_, text := e.next()
	var page operation.List[struct{}]
	if err := json.Unmarshal([]byte(text), &page); err != nil || !page.More || len(text) > 4<<20+100 {
		t.Errorf("%v, %d bytes, more %t", err, len(text), page.More)
	}
	if n := d.stage.gateway.shown.bytes(); n < int64(len(text)) {
		t.Errorf("the view counts for %d bytes", n)
	}
	e.end()
	await(t, "the view is gone", func() bool { return d.stage.gateway.shown.bytes() == 0 })

	d.stage.gateway.shown.limit = 1 << 20
	if _, text = d.watch("", largeList).next(); !strings.Contains(text, "OVERLOADED") {
		t.Errorf("without memory the stream shows %.100s", text)
	}
}
