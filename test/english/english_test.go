package english

import (
	"cmp"
	"flag"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

var (
	texts = flag.String("texts", "", "print all texts of this kind, such as \"error and log texts\"")
	under = flag.String("under", "", "with -texts and -worst: only files under this path")
	worst = flag.Int("worst", 5, "number of files to report for each kind")
)

// The kinds of texts.
const (
	docs            = "docs"
	designPages     = "design pages"
	productComments = "product comments"
	testComments    = "test comments"
	commandHelp     = "command help"
	flagHelp        = "flag help"
	messages        = "error and log texts"
	apiDescriptions = "API descriptions"
	metricHelp      = "metric help"
	alerts          = "alerts"
	consoleTexts    = "console texts"
	docstrings      = "docstrings"
)

// rates are counts per 100 words: pronouns without a noun, and "of".
type rates struct{ pronouns, of float64 }

func (r rates) within(bound rates) bool { return r.pronouns <= bound.pronouns && r.of <= bound.of }

// The bounds for a kind and for a single file.
var (
	kindBounds = rates{6.0, 2.6}
	fileBounds = rates{9.0, 4.0}
)

// fewWords is the word count below which a file has no bounds, because a single word would decide.
const fewWords = 60

// kinds are all kinds, in report order.
var kinds = []string{
	docs, designPages, productComments, testComments, commandHelp, flagHelp, messages, apiDescriptions, metricHelp,
	alerts, consoleTexts, docstrings,
}

// pronouns are words that replace a noun. In a sentence with many pronouns, readers search for the nouns.
var pronouns = set("what that those it which one who where there them others none such this these its they whose " +
	"another other any each same")

func set(list string) map[string]bool {
	found := make(map[string]bool)
	for word := range strings.FieldsSeq(list) {
		found[word] = true
	}
	return found
}

var (
	word      = regexp.MustCompile(`[a-z]+(?:'[a-z]+)?`)
	backticks = regexp.MustCompile("``?[^`]*``?")
)

// words returns the words of a text in lower case. Code in backticks counts as one noun.
func words(s string) []string {
	return word.FindAllString(strings.ToLower(backticks.ReplaceAllString(s, " noun ")), -1)
}

// count counts the words in texts.
type count struct {
	words, pronouns, of int
	by                  map[string]int
}

func (c *count) add(s string) {
	for _, w := range words(s) {
		c.words++
		if pronouns[w] {
			c.pronouns++
		}
		if w == "of" {
			c.of++
		}
		if c.by == nil {
			c.by = make(map[string]int)
		}
		c.by[w]++
	}
}

func (c *count) rates() rates {
	n := float64(max(1, c.words))
	return rates{100 * float64(c.pronouns) / n, 100 * float64(c.of) / n}
}

// TestTextsAreEasyToRead: no kind and no file has too many pronouns or too many "of". With -texts the test prints all
// texts of a kind, with -worst the worst files.
func TestTextsAreEasyToRead(t *testing.T) {
	all := readTree(t)
	for _, kind := range kinds {
		whole, files := count{}, make(map[string]*count)
		for _, each := range all {
			if each.kind != kind || !strings.HasPrefix(each.path, *under) {
				continue
			}
			if kind == *texts {
				fmt.Printf("%s:%d\t%s\t%q\n", each.path, each.line, each.context, each.text)
			}
			whole.add(each.text)
			if files[each.path] == nil {
				files[each.path] = new(count)
			}
			files[each.path].add(each.text)
		}
		if whole.words < fewWords && *under == "" {
			t.Errorf("%s: only %d words found", kind, whole.words)
		}
		check(t, kind, &whole, files)
	}
}

// check compares a kind and its files with their bounds.
func check(t *testing.T, kind string, whole *count, files map[string]*count) {
	r := whole.rates()
	t.Logf("%-20s %6d words, %4.1f pronouns and %3.1f of per 100", kind, whole.words, r.pronouns, r.of)
	if !r.within(kindBounds) && *under == "" {
		t.Errorf("%s: %.2f pronouns and %.2f \"of\" per 100 words; at most %.1f and %.1f are allowed", kind, r.pronouns,
			r.of, kindBounds.pronouns, kindBounds.of)
	}
	paths := make([]string, 0, len(files))
	for path, c := range files {
		if c.words >= fewWords {
			paths = append(paths, path)
		}
	}
	load := func(path string) float64 {
		r := files[path].rates()
		return max(r.pronouns/fileBounds.pronouns, r.of/fileBounds.of)
	}
	slices.SortFunc(paths, func(a, b string) int { return -cmp.Compare(load(a), load(b)) })
	for i, path := range paths {
		r := files[path].rates()
		report := fmt.Sprintf("%s: %s: %.1f pronouns and %.1f \"of\" per 100 words", path, kind, r.pronouns, r.of)
		switch {
		case !r.within(fileBounds):
			t.Errorf("%s; at most %.1f and %.1f are allowed", report, fileBounds.pronouns, fileBounds.of)
		case i < *worst:
			t.Log(report)
		}
	}
}

// TestOverusedWordsAreReported reports words that occur far more often here than in docs and comments from other
// coordination services. The test fails only if the model counts cannot be read: an overused word may be right.
func TestOverusedWordsAreReported(t *testing.T) {
	models, total := modelCounts(t)
	whole := make(map[string]*count)
	for _, each := range readTree(t) {
		if whole[each.kind] == nil {
			whole[each.kind] = new(count)
		}
		whole[each.kind].add(each.text)
	}
	const often, times, reported = 20, 10, 20
	for _, kind := range []string{docs, designPages, productComments, testComments} {
		c := whole[kind]
		ratio := func(w string) float64 {
			return float64(c.by[w]) / float64(c.words) * float64(total) / float64(max(1, models[w]))
		}
		var over []string
		for w, n := range c.by {
			if len(w) > 2 && n >= max(often, c.words/20_000) && ratio(w) >= times {
				over = append(over, w)
			}
		}
		slices.SortFunc(over, func(a, b string) int { return -cmp.Compare(ratio(a), ratio(b)) })
		t.Logf("overused in %s: %s", kind, strings.Join(over[:min(len(over), reported)], ", "))
	}
}

// modelCounts reads word counts for comments and docs in etcd, raft, bbolt, hashicorp/raft, NATS, Oxia and rqlite, and
// returns the total.
func modelCounts(t *testing.T) (counts map[string]int, total int) {
	t.Helper()
	content, err := os.ReadFile("testdata/models.tsv")
	if err != nil {
		t.Fatal(err)
	}
	counts = make(map[string]int)
	for line := range strings.Lines(string(content)) {
		w, number, _ := strings.Cut(strings.TrimSpace(line), "\t")
		n, err := strconv.Atoi(number)
		if w == "word" {
			continue
		}
		if err != nil {
			t.Fatalf("testdata/models.tsv: %q: %v", line, err)
		}
		counts[w] = n
		total += n
	}
	return counts, total
}
