package http

import (
	"encoding/json"
	"reflect"
	"strings"
	"sync"
)

// schema is a JSON schema, as far as this API needs one.
type schema map[string]any

// schemas makes the schemas of types. Structures with a name are defined once, and referred to.
type schemas map[string]schema

// of returns the schema of a type.
func (s schemas) of(t reflect.Type) schema {
	switch {
	case t == timeType:
		return schema{"type": "string", "format": "date-time"}
	case t == durationType:
		return schema{"type": "integer", "description": "milliseconds"}
	case t == bytesType, t == errorType:
		return schema{"type": "string"}
	case worded(t):
		words, _ := wordsOf(t)
		return schema{"type": "string", "enum": words}
	}
	switch t.Kind() {
	case reflect.Pointer:
		return s.of(t.Elem())
	case reflect.Struct:
		return s.refer(t)
	case reflect.Slice:
		return schema{"type": "array", "items": s.of(t.Elem())}
	case reflect.Map:
		return schema{"type": "object", "additionalProperties": s.of(t.Elem())}
	case reflect.Bool:
		return schema{"type": "boolean"}
	case reflect.Uint64, reflect.Int64:
		return schema{"type": "string", "pattern": "^[0-9]+$"}
	case reflect.String:
		return schema{"type": "string"}
	}
	return schema{"type": "number"}
}

// refer defines a structure where it is not defined yet, and refers to it.
func (s schemas) refer(t reflect.Type) schema {
	name := typeName(t)
	if s[name] == nil {
		s[name] = schema{"type": "object"} // structures may have fields of their own type
		s[name] = s.define(t)
	}
	return schema{"$ref": "#/components/schemas/" + name}
}

func (s schemas) define(t reflect.Type) schema {
	properties, required := schema{}, []string{}
	for _, f := range fieldsOf(t) {
		of := s.of(f.of)
		if f.about != "" {
			of = described(of, f.about)
		}
		properties[f.name] = of
		if f.of == bytesType {
			properties[f.name+base64Suffix] = described(schema{"type": "string", "format": "byte"},
				"in place of "+f.name+", where it is no text")
		}
		if f.required {
			required = append(required, f.name)
		}
	}
	defined := schema{"type": "object", "properties": properties}
	if len(required) > 0 {
		defined["required"] = required
	}
	return defined
}

// described adds a description to a schema, also to one that refers to another.
func described(s schema, about string) schema {
	if s["$ref"] != nil {
		return schema{"allOf": []schema{s}, "description": about}
	}
	s["description"] = about
	return s
}

// typeName is the name of a structure in the document: those of packages of kinds of objects have its name before them.
func typeName(t reflect.Type) string {
	name, arguments, generic := strings.Cut(t.Name(), "[")
	if generic {
		return "list_" + nameOfArgument(strings.TrimSuffix(arguments, "]"))
	}
	return packageName(t.PkgPath()) + underscored(name)
}

func nameOfArgument(argument string) string {
	argument = strings.TrimPrefix(argument, "*")
	dot := strings.LastIndexByte(argument, '.')
	return packageName(argument[:dot]) + underscored(argument[dot+1:])
}

func packageName(path string) string {
	name := path[strings.LastIndexByte(path, '/')+1:]
	if name == "http" || name == "client" {
		return ""
	}
	return name + "_"
}

// document is the OpenAPI document of the table, as JSON with indents.
var document = sync.OnceValue(func() []byte {
	s, paths := schemas{}, schema{}
	failed := schema{"description": "why it was not carried out, and what to do", "content": schema{
		problemType: schema{"schema": s.of(reflect.TypeFor[problem]())}}}
	all := table()
	for i := range all {
		r := &all[i]
		operation := schema{
			"operationId": r.name(), "tags": []string{r.group}, "summary": r.does, "x-signalbox-right": r.right,
			"responses": schema{"200": s.answer(r), "default": failed},
		}
		if r.changes() {
			operation["requestBody"] = schema{"required": true, "content": schema{
				"application/json": schema{"schema": s.of(r.request)}}}
		} else if parameters := s.parameters(r); len(parameters) > 0 {
			operation["parameters"] = parameters
		}
		if paths[r.path] == nil {
			paths[r.path] = schema{}
		}
		paths[r.path].(schema)[strings.ToLower(r.method)] = operation
	}
	text, err := json.MarshalIndent(schema{
		"openapi": "3.0.3",
		"info": schema{"title": "Signalbox", "version": "1",
			"description": "Whole numbers of 64 bits are strings. Times are RFC 3339, durations milliseconds."},
		"security": []schema{{"token": []string{}}},
		"paths":    paths,
		"components": schema{"schemas": s, "securitySchemes": schema{
			"token": schema{"type": "http", "scheme": "bearer"}}},
	}, "", "  ")
	if err != nil {
		panic("the OpenAPI document cannot be written: " + err.Error()) // all of it is made here
	}
	return text
})

func (s schemas) answer(r *route) schema {
	if r.answer == nil {
		return schema{"description": r.does, "content": schema{r.streams: schema{"schema": schema{"type": "string"}}}}
	}
	return schema{"description": "carried out", "content": schema{
		"application/json": schema{"schema": s.of(r.answer)}}}
}

func (s schemas) parameters(r *route) (all []schema) {
	for _, f := range fieldsOf(r.request) {
		p := schema{"name": f.name, "in": "query", "schema": s.of(f.of)}
		if f.about != "" {
			p["description"] = f.about
		}
		if f.required {
			p["required"] = true
		}
		all = append(all, p)
	}
	return all
}
