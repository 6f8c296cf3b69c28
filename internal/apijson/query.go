package apijson

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
)

// DecodeQuery decodes query parameters into a structure. Values are written as in JSON, without quotes.
func DecodeQuery(query map[string][]string, into any) error {
	of := reflect.TypeOf(into).Elem()
	if err := onlyKnown(query, of, "the parameter "); err != nil {
		return err
	}
	known := Fields(of)
	members := make(map[string]any)
	for name, texts := range query {
		at := slices.IndexFunc(known, func(f Field) bool { return f.Name == name })
		if at < 0 { // bytes in base 64 are for bodies
			return fmt.Errorf("unknown parameter %s", name)
		}
		list := known[at].Of.Kind() == reflect.Slice && known[at].Of != bytesType
		if len(texts) > 1 && !list {
			return fmt.Errorf("the parameter %s is given more than once", name)
		}
		members[name] = inJSON(known[at].Of, texts, list)
	}
	text, err := json.Marshal(members)
	if err != nil {
		return fmt.Errorf("invalid query: %w", err)
	}
	return Decode(text, into)
}

// inJSON converts a parameter into the form of a JSON request.
func inJSON(t reflect.Type, texts []string, list bool) any {
	plain := t == durationType || !isText(t) && (t.Kind() == reflect.Bool || t.Kind() == reflect.Int)
	switch {
	case list:
		return texts
	case t.Kind() == reflect.Bool && texts[0] == "":
		return true
	case plain && json.Valid([]byte(texts[0])):
		return json.RawMessage(texts[0])
	}
	return texts[0]
}
