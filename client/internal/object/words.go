package object

import (
	"strings"
	"unicode/utf8"
)

// InWords makes a name of the protocol one for people.
func InWords(name string) string { return strings.ToLower(strings.ReplaceAll(name, "_", " ")) }

// Cut makes a text one as hosts take it, of so many bytes at the most.
func Cut(text string, most int) string {
	text = strings.ToValidUTF8(text, "?")
	for end := most; len(text) > end; end-- {
		if utf8.RuneStart(text[end]) {
			return text[:end]
		}
	}
	return text
}
