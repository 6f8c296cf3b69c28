package tidy

import (
	"flag"
	"fmt"
	"go/scanner"
	"go/token"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// lower rewrites the bounds if the tree has improved.
var lower = flag.Bool("lower", false, "lower the bounds of testdata/pronouns to what the rooms have")

// bounds is the file with each room's maximum number of pronouns per 100 comment words.
const bounds = "testdata/pronouns"

const (
	// newRoom is the bound for a room without a line in the file. The file keeps only higher bounds.
	newRoom = 7.0
	// fewWords is the minimum number of words for a meaningful rate.
	fewWords = 300
	// leastWords is the minimum number of explanation words per line of code in such a room: sentences are to be
	// rewritten, not dropped. Command help explains the command, so multi-line strings count as well.
	leastWords = 1.2
)

// pronouns stand for another word. A sentence with many pronouns is a riddle.
var pronouns = func() map[string]bool {
	set := make(map[string]bool)
	for word := range strings.FieldsSeq("what that those it which one who where there them others none such this " +
		"these its they whose another other any each same") {
		set[word] = true
	}
	return set
}()

var commentWord = regexp.MustCompile(`[A-Za-z']+`)

// prose counts a room's comments.
type prose struct{ words, pronouns, code, help int }

func (p prose) share() float64 { return 100 * float64(p.pronouns) / float64(p.words) }

// add counts a file.
func (p *prose) add(s *source) {
	for _, group := range s.file.Comments {
		for _, word := range commentWord.FindAllString(group.Text(), -1) {
			p.words++
			if pronouns[strings.ToLower(word)] {
				p.pronouns++
			}
		}
	}
	set := token.NewFileSet()
	file := set.AddFile(s.path, -1, len(s.text))
	var scan scanner.Scanner
	scan.Init(file, []byte(s.text), nil, 0)
	for last := 0; ; {
		at, what, text := scan.Scan()
		if what == token.EOF {
			return
		}
		first := file.Line(at)
		end := first + strings.Count(text, "\n")
		if what == token.STRING && end > first { // a text such as command help, which explains itself
			p.code += first - max(first-1, last)
			p.help += len(commentWord.FindAllString(text, -1))
			last = end - 1
			first = end
		}
		if what == token.SEMICOLON && text == "\n" {
			end = first
		}
		p.code += end - max(first-1, last)
		last = max(last, end)
	}
}

// TestCommentsNameWhatTheySpeakOf: no room's comments have a higher pronoun rate than before, and new rooms start with
// a low rate.
func TestCommentsNameWhatTheySpeakOf(t *testing.T) {
	rooms := make(map[string]*prose)
	for _, s := range sources(t) {
		if !s.product() {
			continue
		}
		if rooms[s.folder()] == nil {
			rooms[s.folder()] = &prose{}
		}
		rooms[s.folder()].add(s)
	}
	most := readBounds(t)
	for _, folder := range slices.Sorted(maps.Keys(rooms)) {
		p := rooms[folder]
		bound, old := most[folder]
		if !old {
			bound = newRoom
		}
		switch {
		case p.words < fewWords:
		case p.share() > bound:
			t.Errorf("%s: comments have %.2f pronouns per 100 words; at most %.1f are allowed. Name the subject, "+
				"say what holds, then why", folder, p.share(), bound)
		case !old && float64(p.words+p.help) < leastWords*float64(p.code):
			t.Errorf("%s: comments and help have %.2f words per line of code; they explain too little", folder,
				float64(p.words+p.help)/float64(p.code))
		}
	}
	if *lower && *room == "" {
		writeBounds(t, most, rooms)
	}
}

func readBounds(t *testing.T) map[string]float64 {
	text, err := os.ReadFile(bounds)
	if err != nil && !*lower {
		t.Fatal(err)
	}
	most := make(map[string]float64)
	for line := range strings.Lines(string(text)) {
		var folder string
		var bound float64
		if _, err := fmt.Sscan(line, &folder, &bound); err != nil {
			t.Fatalf("%s: %q: %v", bounds, line, err)
		}
		most[folder] = bound
	}
	return most
}

// writeBounds keeps the bounds of rooms above the limit for new rooms; no bound increases.
func writeBounds(t *testing.T, most map[string]float64, rooms map[string]*prose) {
	var text strings.Builder
	for _, folder := range slices.Sorted(maps.Keys(rooms)) {
		p := rooms[folder]
		bound := float64(int(10*p.share())+1) / 10
		if old, ok := most[folder]; ok {
			bound = min(bound, old)
		} else if len(most) > 0 {
			continue // a new room
		}
		if p.words >= fewWords && bound > newRoom {
			fmt.Fprintf(&text, "%s %.1f\n", folder, bound)
		}
	}
	if err := os.WriteFile(bounds, []byte(text.String()), 0o644); err != nil {
		t.Fatal(err)
	}
}
