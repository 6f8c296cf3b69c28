package deploy_test

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

var (
	number   = regexp.MustCompile(`^(?:0x[0-9a-fA-F]+|[0-9]*\.?[0-9]+(?:[eE][+-]?[0-9]+)?|Inf|NaN)$`)
	duration = regexp.MustCompile(`^(?:[0-9]+(?:ms|[smhdwy]))+$`)
	name     = regexp.MustCompile(`^[a-zA-Z_:][a-zA-Z0-9_:]*$`)
)

// tokenize cuts an expression into words, numbers, texts and signs.
func tokenize(s string) (tokens []string) {
	for s != "" {
		r, size := utf8.DecodeRuneInString(s)
		switch {
		case unicode.IsSpace(r):
			s = s[size:]
			continue
		case r == '"':
			text, err := strconv.QuotedPrefix(s)
			if err != nil {
				panic(complaint("a text does not end: " + s))
			}
			size = len(text)
		case isWord(r):
			size = strings.IndexFunc(s, func(r rune) bool { return !isWord(r) })
			if size < 0 {
				size = len(s)
			}
		case len(s) > 1 && slices.Contains([]string{"==", "!=", "=~", "!~", ">=", "<="}, s[:2]):
			size = 2
		case !strings.ContainsRune("+-*/%^(){}[],=<>:", r):
			panic(complaint(fmt.Sprintf("%q is no sign of PromQL", r)))
		}
		tokens = append(tokens, s[:size])
		s = s[size:]
	}
	return tokens
}

func isWord(r rune) bool { return r == '_' || r == '.' || unicode.IsLetter(r) || unicode.IsDigit(r) }
