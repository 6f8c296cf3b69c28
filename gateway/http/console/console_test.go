package console_test

import (
	"context"
	"flag"
	"fmt"
	"io/fs"
	"math"
	"net/http/httptest"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/signalbox/signalbox/client"
	gateway "github.com/signalbox/signalbox/gateway/http"
	"github.com/signalbox/signalbox/gateway/http/console"
	"github.com/signalbox/signalbox/server/servertest"
)

var inBrowser = flag.Bool("browser", false, "run the tests that need a browser")

var shots = flag.String("shots", "", "a folder to save what every page looks like in")

// maxWeight bounds what a browser loads, in bytes.
const maxWeight = 300 << 10

// stage is a console in front of a cluster of three hosts.
type stage struct {
	*testing.T
	cluster *servertest.Cluster
	client  *client.Client
	url     string
}

func newStage(t *testing.T) *stage {
	t.Helper()
	cluster := servertest.Start(t, servertest.Hosts(3))
	open := func(ctx context.Context, token string) (*client.Client, error) {
		return client.Open(ctx, cluster.Addresses(), client.WithDialer(cluster.Dial), client.WithToken(token),
			client.WithName("a test"))
	}
	g := gateway.New(gateway.Config{Open: open, Actions: true, Files: console.Files()})
	server := httptest.NewServer(g)
	t.Cleanup(func() {
		g.Close()
		server.Close()
	})
	c, err := open(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	if _, err := c.CreateNode(t.Context(), "/prod/jobs", client.NodeConfig{}); err != nil {
		t.Fatal(err)
	}
	return &stage{t, cluster, c, server.URL}
}

// session starts a session.
func (st *stage) session(description string) *client.Session {
	st.Helper()
	s, err := st.client.Session(st.Context(), "/prod/jobs", client.Description(description),
		client.SessionTimeout(time.Minute))
	if err != nil {
		st.Fatal(err)
	}
	return s
}

// TestTheConsoleInABrowser shows a lock that is handed over, and ends a session.
func TestTheConsoleInABrowser(t *testing.T) {
	b := openBrowser(t)
	st := newStage(t)
	first, second := st.session("the first"), st.session("the second")
	lease, err := first.Semaphore("nightly", client.Limit(1)).Acquire(t.Context(), client.Data([]byte("one")))
	if err != nil {
		t.Fatal(err)
	}
	waits := make(chan error, 1)
	go func() {
		_, err := second.Semaphore("nightly").Acquire(t.Context(), client.Data([]byte("two")))
		waits <- err
	}()
	b.look("light", 1280)
	b.visit(st.url + "/locks")
	b.awaitText("nightly")
	b.evaluate("document.querySelector('tbody a').click()")
	b.awaitText("Queue")
	b.await("document.querySelectorAll('tbody')[0]?.innerText.includes('one')")
	b.await("document.querySelectorAll('tbody')[1]?.innerText.includes('two')")
	if err := lease.Release(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := <-waits; err != nil {
		t.Fatal(err)
	}
	b.await("document.querySelectorAll('tbody')[0]?.innerText.includes('two')")
	b.awaitText("No session waits.")

	b.evaluate("document.querySelector('tbody button').click()")
	b.awaitText(fmt.Sprintf("End session %d", second.ID()))
	b.evaluate("document.querySelector('dialog button[type=submit]').click()")
	<-second.Context().Done()
	b.awaitText("It is free.")
	b.checkQuiet(st.url)
}

// checkQuiet checks that the page has complained of nothing, and has asked for nothing from elsewhere.
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

// TestPagesFitEveryWidthAndTheme: no page is wider than the screen, also on a phone.
func TestPagesFitEveryWidthAndTheme(t *testing.T) {
	b := openBrowser(t)
	st := newStage(t)
	s := st.session("a nightly job that has a long description, as people write them")
	for _, name := range []string{"nightly", strings.Repeat("a-long-name-", 7)} {
		if _, err := s.Semaphore(name, client.Limit(3)).Acquire(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	for name, page := range map[string]string{
		"overview": "/", "locks": "/locks", "semaphore": "/semaphore?node=/prod/jobs&name=nightly",
		"sessions": "/sessions", "session": fmt.Sprintf("/session?id=%d", s.ID()), "hosts": "/hosts",
		"history": "/history", "missing": "/semaphore?node=/prod/jobs&name=none",
	} {
		for _, theme := range []string{"light", "dark"} {
			for _, width := range []int{1280, 360} {
				b.look(theme, width)
				b.visit(st.url + page)
				b.await("!document.querySelector('.loading')")
				if wide := b.evaluate("document.documentElement.scrollWidth"); wide != strconv.Itoa(width) {
					t.Errorf("%s, %s: %s wide on a screen of %d", name, theme, wide, width)
				}
				if *shots != "" {
					b.shoot(filepath.Join(*shots, fmt.Sprintf("%s-%s-%d.png", name, theme, width)))
				}
			}
		}
	}
}

var variable = regexp.MustCompile(`--([a-z-]+): #([0-9a-f]{6});`)

// TestColoursCanBeRead: every pair of text and ground that is used has a contrast of 4.5 to 1 in both themes.
func TestColoursCanBeRead(t *testing.T) {
	text, err := fs.ReadFile(console.Files(), "style.css")
	if err != nil {
		t.Fatal(err)
	}
	light, dark, ok := strings.Cut(string(text), "prefers-color-scheme: dark")
	if !ok {
		t.Fatal("there is no dark theme")
	}
	for theme, style := range map[string]string{"light": light, "dark": dark} {
		colours := make(map[string]string)
		for _, match := range variable.FindAllStringSubmatch(style, -1) {
			colours[match[1]] = match[2]
		}
		for _, pair := range [][2]string{
			{"text", "ground"}, {"text", "raised"}, {"dim", "ground"}, {"dim", "raised"}, {"accent", "ground"},
			{"accent", "raised"}, {"on-accent", "accent"}, {"good", "good-ground"}, {"warn", "warn-ground"},
			{"bad", "bad-ground"}, {"bad", "ground"}, {"good", "ground"}, {"text", "good-ground"},
		} {
			if got := contrast(t, colours[pair[0]], colours[pair[1]]); got < 4.5 {
				t.Errorf("%s: %s on %s has %.2f", theme, pair[0], pair[1], got)
			}
		}
	}
}

// contrast is that of two colours, by WCAG.
func contrast(t *testing.T, a, b string) float64 {
	t.Helper()
	luminance := func(colour string) (l float64) {
		n, err := strconv.ParseUint(colour, 16, 32)
		if err != nil {
			t.Fatalf("no colour: %q", colour)
		}
		for i, weight := range []float64{0.2126, 0.7152, 0.0722} {
			c := float64(n>>(16-8*i)&255) / 255
			if c = c / 12.92; c > 0.04045/12.92 {
				c = math.Pow((c*12.92+0.055)/1.055, 2.4)
			}
			l += weight * c
		}
		return l
	}
	x, y := luminance(a), luminance(b)
	return (max(x, y) + 0.05) / (min(x, y) + 0.05)
}

// TestTheConsoleIsLight: it loads fast over a slow line.
func TestTheConsoleIsLight(t *testing.T) {
	weight := int64(0)
	err := fs.WalkDir(console.Files(), ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		info, err := entry.Info()
		if err == nil {
			weight += info.Size()
		}
		return err
	})
	if err != nil || weight == 0 || weight > maxWeight {
		t.Errorf("%d bytes, %v", weight, err)
	}
}
