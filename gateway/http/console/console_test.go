package console_test

import (
	"flag"
	"io/fs"
	"math"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/signalbox/signalbox/gateway/http/console"
)

var inBrowser = flag.Bool("browser", false, "run the tests that need a browser")

var shots = flag.String("shots", "", "a folder to save what every page looks like in")

// maxWeight bounds the bytes that a browser loads.
const maxWeight = 300 << 10

var variable = regexp.MustCompile(`--([a-z-]+): #([0-9a-f]{6});`)

// TestColoursCanBeRead: every used pair of text and background has a contrast ratio of at least 4.5 in both themes.
func TestColoursCanBeRead(t *testing.T) {
	text, err := fs.ReadFile(console.Files(), "palette.css")
	if err != nil {
		t.Fatal(err)
	}
	light, dark, ok := strings.Cut(string(text), "prefers-color-scheme: dark")
	if !ok {
		t.Fatal("unknown route dark theme")
	}
	for theme, style := range map[string]string{"light": light, "dark": dark} {
		colours := make(map[string]string)
		for _, match := range variable.FindAllStringSubmatch(style, -1) {
			colours[match[1]] = match[2]
		}
		for _, pair := range [][2]string{
			{"text", "ground"}, {"text", "raised"}, {"dim", "ground"}, {"dim", "raised"}, {"accent", "ground"},
			{"accent", "raised"}, {"on-accent", "accent"}, {"good", "good-ground"}, {"warn", "warn-ground"},
			{"bad", "bad-ground"}, {"bad", "ground"}, {"bad", "raised"}, {"accent", "accent-ground"},
		} {
			if got := contrast(t, colours[pair[0]], colours[pair[1]]); got < 4.5 {
				t.Errorf("%s: %s on %s has %.2f", theme, pair[0], pair[1], got)
			}
		}
	}
}

// contrast returns two colours' WCAG contrast ratio.
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

// TestTheConsoleIsLight: the console loads fast over a slow line.
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

// TestListsSayThatTheyGoOn: a host ends a list at its limit, or at a page's size.
func TestListsSayThatTheyGoOn(t *testing.T) {
	pages, err := fs.Glob(console.Files(), "pages/*.js")
	if err != nil {
		t.Fatal(err)
	}
	lists := 0
	for _, name := range pages {
		text, err := fs.ReadFile(console.Files(), name)
		if err != nil {
			t.Fatal(err)
		}
		for _, page := range strings.Split(string(text), "\n};\n") {
			if strings.Contains(page, "10000") {
				lists++
				if !strings.Contains(page, "more(") {
					t.Errorf("%s does not show that a list goes on:\n%s", name, page)
				}
			}
		}
	}
	if lists != 9 {
		t.Errorf("%d pages have lists", lists)
	}
}
