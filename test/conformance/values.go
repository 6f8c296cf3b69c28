package conformance

import (
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"
)

// show writes values in a line, fields by name.
func show(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprint(v)
	}
	return string(b)
}

func hexOf(text string) string { return hex.EncodeToString([]byte(text)) }

// expand replaces strings such as "$first.sequence" by a field's value: from a named request, from the answer to a
// named request, or from a driver's reply to a command; "$first.id" is a request's id. An unknown name is a script
// error, and ends the script with an error about the name.
func (p *play) expand(v any) any {
	switch v := v.(type) {
	case string:
		if name, ok := strings.CutPrefix(v, "$"); ok {
			return p.variable(name)
		}
	case object:
		all := make(object)
		for name, value := range v {
			all[name] = p.expand(value)
		}
		return all
	case []any:
		list := make([]any, len(v))
		for i, item := range v {
			list[i] = p.expand(item)
		}
		return list
	}
	return v
}

func (p *play) variable(name string) any {
	of, fieldName, _ := strings.Cut(name, ".")
	var sources []object
	if r := p.named[of]; r != nil {
		sources = []object{{"id": r.id}, r.values, r.answer}
	}
	if c := p.commands[of]; c != nil {
		sources = append(sources, c.reply)
	}
	for _, source := range sources {
		if v, ok := source[fieldName]; ok {
			return v
		}
	}
	p.fail(fmt.Errorf("the script cannot be played: nothing is called $%s", name))
	return nil
}

// differs compares values with wanted values, and returns the first difference, else an empty text. Only fields that
// are wanted count. A wanted record, or item of a list, may leave fields out too. {"above": n}, {"below": n} and
// {"not": n} stand for numbers.
func (p *play) differs(want, got object) string {
	for name, w := range want {
		if why := p.differ(p.expand(w), got[name]); why != "" {
			return name + ": " + why
		}
	}
	return ""
}

func (p *play) differ(want, got any) string {
	switch w := want.(type) {
	case object:
		if g, ok := got.(object); ok {
			return p.differs(w, g)
		}
		return p.compare(w, got)
	case []any:
		g, _ := got.([]any)
		if len(g) != len(w) {
			return fmt.Sprintf("%s, want %s", show(got), show(want))
		}
		for i := range w {
			if why := p.differ(w[i], g[i]); why != "" {
				return why
			}
		}
		return ""
	}
	if same(want, got) {
		return ""
	}
	return fmt.Sprintf("%s, want %s", show(got), show(want))
}

// compare holds a number to bounds.
func (p *play) compare(bounds object, got any) string {
	for bound, value := range bounds {
		w, err := theSchema().numberOf("", value)
		g, err2 := theSchema().numberOf("", got)
		holds, known := map[string]bool{"above": g > w, "below": g < w, "not": g != w}[bound]
		if !known {
			return fmt.Sprintf("%s, want %s", show(got), show(bounds))
		}
		if err != nil || err2 != nil || !holds {
			return fmt.Sprintf("%s, want %s %s", show(got), bound, show(value))
		}
	}
	return ""
}

// same compares two values: numbers by value in all notations, and a missing value like an empty one.
func same(a, b any) bool {
	switched, isA := a.(bool)
	if other, isB := b.(bool); isA || isB {
		return switched == other
	}
	x, errX := theSchema().numberOf("", a)
	y, errY := theSchema().numberOf("", b)
	if errX == nil && errY == nil {
		return x == y
	}
	s, _ := a.(string)
	t, _ := b.(string)
	return s == t
}
