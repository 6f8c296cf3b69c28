package machine_test

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/signalbox/signalbox/shard"
)

// goldenLine is a command line: a verb, then words in a fixed order, options (key=value) and flags in any order. The
// verb's function takes its known parts; leftovers are an error. The first error is kept in err, and zeros are returned
// afterwards.
type goldenLine struct {
	verb  string
	words []goldenWord
	err   error
}

type goldenWord struct {
	key, text string // the key is empty for a bare word
	quoted    bool
}

// readGoldenLine splits a line into words. Text in quotes, alone or behind key=, is in Go's form.
func readGoldenLine(line string) *goldenLine {
	l := &goldenLine{}
	for rest := strings.TrimLeft(line, " \t"); rest != ""; rest = strings.TrimLeft(rest, " \t") {
		var w goldenWord
		if at := strings.IndexAny(rest, "= \t\""); at > 0 && rest[at] == '=' {
			w.key, rest = rest[:at], rest[at+1:]
		}
		if strings.HasPrefix(rest, `"`) {
			quoted, err := strconv.QuotedPrefix(rest)
			if err != nil {
				l.fail("a quote is not closed: %s", rest)
				return l
			}
			w.text, _ = strconv.Unquote(quoted)
			w.quoted, rest = true, rest[len(quoted):]
		} else {
			end := strings.IndexAny(rest, " \t")
			if end < 0 {
				end = len(rest)
			}
			w.text, rest = rest[:end], rest[end:]
		}
		l.words = append(l.words, w)
	}
	l.verb = l.word("verb")
	return l
}

func (l *goldenLine) fail(format string, args ...any) {
	if l.err == nil {
		l.err = fmt.Errorf(format, args...)
	}
}

// take removes the first word that fits.
func (l *goldenLine) take(fits func(w goldenWord) bool) (goldenWord, bool) {
	for i, w := range l.words {
		if fits(w) {
			l.words = append(l.words[:i:i], l.words[i+1:]...)
			return w, true
		}
	}
	return goldenWord{}, false
}

func (l *goldenLine) bare() (string, bool) {
	w, ok := l.take(func(w goldenWord) bool { return w.key == "" })
	return w.text, ok
}

// word takes the next bare word, which must exist.
func (l *goldenLine) word(what string) string {
	text, ok := l.bare()
	if !ok {
		l.fail("the %s is missing", what)
	}
	return text
}

// list takes all remaining bare words, at least one, and expands ranges: w1..w3 stands for w1 w2 w3.
func (l *goldenLine) list(what string) []string {
	all := l.span(l.word(what))
	for text, ok := l.bare(); ok; text, ok = l.bare() {
		all = append(all, l.span(text)...)
	}
	return all
}

func (l *goldenLine) span(text string) []string {
	first, last, ok := strings.Cut(text, "..")
	if !ok {
		return []string{text}
	}
	stem := strings.TrimRight(first, "0123456789")
	from, err := strconv.Atoi(first[len(stem):])
	end, isSame := strings.CutPrefix(last, stem)
	to, err2 := strconv.Atoi(end)
	if err != nil || err2 != nil || !isSame || to < from || to-from > 10_000 {
		l.fail("%q is no span such as w1..w9", text)
		return nil
	}
	var all []string
	for i := from; i <= to; i++ {
		all = append(all, stem+strconv.Itoa(i))
	}
	return all
}

// flag takes an optional bare word.
func (l *goldenLine) flag(name string) bool {
	_, ok := l.take(func(w goldenWord) bool { return w.key == "" && !w.quoted && w.text == name })
	return ok
}

// option reports whether an option exists, without taking it.
func (l *goldenLine) option(key string) (string, bool) {
	for _, w := range l.words {
		if w.key == key {
			return w.text, true
		}
	}
	return "", false
}

// text takes an option, and reports whether it exists.
func (l *goldenLine) text(key string) (string, bool) {
	w, ok := l.take(func(w goldenWord) bool { return w.key == key })
	return w.text, ok
}

// number takes a number option; max stands for the highest number.
func (l *goldenLine) number(key string, otherwise uint64) uint64 {
	text, ok := l.text(key)
	switch {
	case !ok:
		return otherwise
	case text == "max":
		return shard.Forever
	}
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		l.fail("%s=%s should be a number", key, text)
	}
	return n
}

// millis takes a time option; forever stands for no end.
func (l *goldenLine) millis(key, otherwise string) uint64 {
	text, ok := l.text(key)
	if !ok {
		text = otherwise
	}
	if text == "forever" {
		return shard.Forever
	}
	d, err := time.ParseDuration(text)
	if err != nil || d < 0 || d%time.Millisecond != 0 {
		l.fail("%s=%s should be a time in whole milliseconds", key, text)
		return 0
	}
	return uint64(d / time.Millisecond)
}

// end returns the line's error, after its verb has taken all known parts.
func (l *goldenLine) end() error {
	if l.err == nil && len(l.words) > 0 {
		w := l.words[0]
		switch {
		case w.key != "":
			l.fail("unknown option %s=%s of %s", w.key, w.text, l.verb)
		default:
			l.fail("unknown word %q of %s", w.text, l.verb)
		}
	}
	return l.err
}

// The same values, drawn as they are read.

func drawMillis(ms uint64) string {
	if ms == shard.Forever {
		return "forever"
	}
	text := (time.Duration(ms) * time.Millisecond).String()
	for _, zero := range []string{"m0s", "h0m"} {
		if strings.HasSuffix(text, zero) {
			text = text[:len(text)-2]
		}
	}
	return text
}

func drawCount(n uint64) string {
	if n == shard.Forever {
		return "max"
	}
	return strconv.FormatUint(n, 10)
}

// drawText draws an option, omitted if empty.
func drawText(key, text string) string {
	if text == "" {
		return ""
	}
	return " " + key + "=" + strconv.Quote(text)
}
