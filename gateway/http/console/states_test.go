package console_test

import (
	"strings"
	"testing"
)

// TestPicturesOfAllStates saves every page while it loads, where there is nothing, where it is refused, and while its
// host is gone.
func TestPicturesOfAllStates(t *testing.T) {
	if *shots == "" {
		t.Skip("it only saves pictures: make screenshots")
	}
	b := openBrowser(t)
	b.look("light", 1280)
	t.Run("empty", func(t *testing.T) {
		st := newStage(t, false)
		b.T = t
		for name, page := range allPages(1) {
			b.visit(st.url + page)
			b.await(drawn)
			b.save("empty-" + name)
		}
	})
	t.Run("loading", func(t *testing.T) {
		st := newStage(t, false)
		b.T = t
		b.do("Fetch.enable", map[string]any{"patterns": []map[string]string{{"urlPattern": "*/v1/events*"}}})
		for name, page := range allPages(1) {
			b.visit(st.url + page)
			b.await("!!document.querySelector('.bones[role=status]')")
			b.save("loading-" + name)
		}
		b.do("Fetch.disable", nil)
	})
	t.Run("refused", func(t *testing.T) {
		st := newStage(t, true)
		b.T = t
		for name, page := range allPages(1) {
			b.visit(st.url + page)
			b.await("!!document.querySelector('main .note.bad') && !!document.querySelector('dialog[open]')")
			b.evaluate("document.querySelector('dialog').close()")
			b.save("refused-" + name)
		}
	})
	t.Run("disconnected", func(t *testing.T) {
		st := newStage(t, false)
		b.T = t
		st.objects()
		s, _, _, _ := st.lock("nightly")
		for name, page := range allPages(s.ID()) {
			b.visit(st.url + page)
			b.await(drawn)
			st.server.Close()
			b.awaitText("This host does not answer.")
			b.save("disconnected-" + name)
			st.serve(strings.TrimPrefix(st.url, "http://"), false)
		}
	})
	b.T = t
}
