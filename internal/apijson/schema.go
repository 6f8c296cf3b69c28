package apijson

import (
	"cmp"
	"reflect"
	"slices"
	"strings"
)

// Schema is a JSON schema or another section in an OpenAPI document.
type Schema map[string]any

// Schemas creates schemas for types. A named structure is defined once and then referenced.
type Schemas map[string]Schema

// Request returns the schema for a decoded type: fields with the tag need are required. Requests must come before
// answers, because a structure used in both is defined as a request.
func (s Schemas) Request(t reflect.Type) Schema { return s.of(t, false) }

// Answer returns the schema for an encoded type: the fields that are never omitted are required.
func (s Schemas) Answer(t reflect.Type) Schema { return s.of(t, true) }

func (s Schemas) of(t reflect.Type, answer bool) Schema {
	switch {
	case t == timeType:
		return Schema{"type": "string", "format": "date-time"}
	case t == durationType:
		return Schema{"type": "integer", "format": "int64", "description": "Duration in milliseconds"}
	case t == bytesType, t == errorType, t.Implements(textType), t.Kind() == reflect.String:
		return Schema{"type": "string"}
	case worded(t):
		words, _ := wordsOf(t)
		return Schema{"type": "string", "enum": words}
	case t.Implements(namedType):
		return Schema{"type": "array", "items": Schema{"type": "string"}}
	}
	switch t.Kind() {
	case reflect.Pointer:
		return s.of(t.Elem(), answer)
	case reflect.Struct:
		return s.refer(t, answer)
	case reflect.Slice:
		return Schema{"type": "array", "items": s.of(t.Elem(), answer)}
	case reflect.Map:
		return Schema{"type": "object", "additionalProperties": s.of(t.Elem(), answer)}
	case reflect.Bool:
		return Schema{"type": "boolean"}
	case reflect.Uint64:
		return Schema{"type": "string", "pattern": "^[0-9]+$"}
	case reflect.Int64:
		return Schema{"type": "string", "pattern": "^-?[0-9]+$"}
	case reflect.Float64:
		return Schema{"type": "number"}
	}
	return Schema{"type": "integer"}
}

// refer defines a structure if necessary and returns a reference.
func (s Schemas) refer(t reflect.Type, answer bool) Schema {
	name := typeName(t.PkgPath() + "." + t.Name())
	if s[name] == nil {
		s[name] = Schema{"type": "object"} // structures may be recursive
		s[name] = s.define(t, answer)
	}
	return Schema{"$ref": "#/components/schemas/" + name}
}

// define creates the schema for a structure. Bytes have two alternative properties: text, and base64 with the suffix.
func (s Schemas) define(t reflect.Type, answer bool) Schema {
	properties, required := Schema{}, []string{}
	for _, f := range Fields(t) {
		of := s.OfField(&f, answer)
		if f.About != "" {
			of = described(of, f.About)
		}
		properties[f.Name] = of
		if f.Of == bytesType {
			properties[f.Name+base64Suffix] = described(Schema{"type": "string", "format": "byte"},
				"Base64, instead of "+f.Name+", if the value is not UTF-8")
		}
		if f.Required && !answer || answer && !f.absent(reflect.Zero(f.Of)) {
			required = append(required, f.Name)
		}
	}
	defined := Schema{"type": "object", "properties": properties}
	if len(required) > 0 {
		defined["required"] = required
	}
	return defined
}

// OfField returns a single field's schema.
func (s Schemas) OfField(f *Field, answer bool) Schema {
	if f.counts() {
		return Schema{"type": "string", "pattern": "^([0-9]+|" + everything + ")$"}
	}
	return s.of(f.Of, answer)
}

// described adds a description to a schema, even if the schema is a reference.
func described(s Schema, about string) Schema {
	if s["$ref"] != nil {
		return Schema{"allOf": []Schema{s}, "description": about}
	}
	s["description"] = about
	return s
}

// plainPackages lists packages without a prefix in schema names.
var plainPackages = []string{"field", "http", "client", "apijson", "operation"}

// prefixes lists schema name prefixes that differ from the package name, such as for operator views. A role has a
// longer prefix, because shards have roles too.
var prefixes = map[string]string{"host": "admin", "access": "admin", "access.Role": "admin_access"}

// schemaNames lists structures whose API name differs from the Go name.
var schemaNames = map[string]string{
	"admin.JoinInfo": "join_info", "admin.UnreachableHost": "unreachable_host", "host.Standing": "host_state",
	"rollout.Row": "rollout_target", "rollout.Verdict": "rollout_gate_report", "apijson.Done": "changed",
}

// typeName returns a structure's name in the document, from its Go path and name. An object kind's package precedes the
// name, and a type argument follows it.
func typeName(name string) string {
	name, argument, generic := strings.Cut(strings.TrimPrefix(name, "*"), "[")
	dot := strings.LastIndexByte(name, '.')
	if named := schemaNames[name[strings.LastIndexByte(name[:dot], '/')+1:]]; named != "" {
		return named
	}
	of, short := name[strings.LastIndexByte(name[:dot], '/')+1:dot], underscored(name[dot+1:])
	if !slices.Contains(plainPackages, of) {
		short = cmp.Or(prefixes[of+name[dot:]], prefixes[of], of) + "_" + short
	}
	if generic {
		short += "_" + typeName(strings.TrimSuffix(argument, "]"))
	}
	return short
}
