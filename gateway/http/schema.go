package http

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"sync"

	"github.com/signalbox/signalbox/internal/shape"
)

// sequencedRoutes are the changes made by sessions under sequence numbers, and unsequencedRoutes the other routes with
// a session.
var (
	sequencedRoutes   = []string{version + "/semaphore/acquire", version + "/semaphore/release", version + updateRoute}
	unsequencedRoutes = []string{version + "/session/keep-alive", version + "/session/close"}
)

// headers are the parameters of a route in headers.
func (r *route) headers() []shape.Schema {
	session := inHeader(sessionHeader, "the session, as its creation has answered", true)
	reason := inHeader(reasonHeader, "why, for the history: escaped as in an address", false)
	switch {
	case slices.Contains(sequencedRoutes, r.path):
		all := []shape.Schema{
			session,
			inHeader(sequenceHeader, "a sequence number above all that the session has used, unless the same "+
				"request is sent again; without it the outcome of a request that is sent again may be unknown", false),
			inHeader(acknowledgedHeader,
				"up to which sequence number the caller has all answers; without it, to the one before", false),
		}
		if r.path == version+updateRoute {
			session["required"], session["description"] = false, "the session that owns the semaphore, for a fence"
			all = append(all, reason)
		}
		return all
	case slices.Contains(unsequencedRoutes, r.path):
		return []shape.Schema{session}
	case r.changes() && r.group != groupConsole && !r.keepsReason() && r.right != "acquire":
		return []shape.Schema{reason}
	}
	return nil
}

func inHeader(name, about string, required bool) shape.Schema {
	return shape.Schema{
		"name": name, "in": "header", "required": required, "description": about,
		"schema": shape.Schema{"type": "string"},
	}
}

// document is the OpenAPI document of the table, as JSON with indents.
var document = sync.OnceValue(func() []byte {
	schemas, paths := shape.Schemas{}, shape.Schema{}
	all := table()
	for i := range all {
		if all[i].changes() {
			schemas.Request(all[i].request) // before answers: a structure in both is defined as in requests
		}
	}
	failed := shape.Schema{"description": "why it was not carried out, and what to do", "content": shape.Schema{
		problemType: shape.Schema{"schema": schemas.Answer(reflect.TypeFor[problem]())}}}
	for i := range all {
		r := &all[i]
		if paths[r.path] == nil {
			paths[r.path] = shape.Schema{}
		}
		paths[r.path].(shape.Schema)[strings.ToLower(r.method)] = r.operation(schemas, failed)
	}
	text, err := json.MarshalIndent(shape.Schema{
		"openapi": "3.0.3",
		"info": shape.Schema{"title": "Signalbox", "version": "1",
			"description": "Whole numbers of 64 bits are strings. Times are RFC 3339, durations milliseconds. Zero " +
				"is left out, except booleans, lists, and words with a meaning."},
		"servers": []shape.Schema{
			{"url": "/", "description": "the host with this document"},
			{"url": "{scheme}://{host}:{port}", "description": "any host of a cluster", "variables": shape.Schema{
				"scheme": shape.Schema{"default": "http", "enum": []string{"http", "https"}},
				"host":   shape.Schema{"default": "127.0.0.1"}, "port": shape.Schema{"default": "7424"},
			}},
		},
		"security": []shape.Schema{{"token": []string{}}, {}},
		"paths":    paths,
		"components": shape.Schema{"schemas": schemas, "securitySchemes": shape.Schema{
			"token": shape.Schema{"type": "http", "scheme": "bearer"}}},
	}, "", "  ")
	if err != nil {
		panic("the OpenAPI document cannot be written: " + err.Error()) // all parts are made here
	}
	return text
})

// operation describes a route.
func (r *route) operation(schemas shape.Schemas, failed shape.Schema) shape.Schema {
	responses := shape.Schema{"200": r.success(schemas), "default": failed}
	operation := shape.Schema{
		"operationId": r.name(), "tags": []string{r.group}, "summary": r.does, "x-signalbox-permission": r.right,
		"responses": responses,
	}
	if slices.Contains(sequencedRoutes, r.path) {
		responses["422"] = shape.Schema{
			"description": "the sequence number was used for another request, and nothing happened: take the next one",
			"content":     failed["content"],
		}
	}
	parameters := r.headers()
	if r.changes() {
		operation["requestBody"] = shape.Schema{"required": true, "content": shape.Schema{
			"application/json": shape.Schema{"schema": schemas.Request(r.request)}}}
	} else {
		parameters = append(parameters, r.parameters(schemas)...)
	}
	if len(parameters) > 0 {
		operation["parameters"] = parameters
	}
	return operation
}

// success describes the answer of a route.
func (r *route) success(schemas shape.Schemas) shape.Schema {
	if r.answer == nil {
		of := shape.Schema{"type": "string"}
		if !strings.HasPrefix(r.streams, "text/") {
			of["format"] = "binary"
		}
		return shape.Schema{"description": r.does, "content": shape.Schema{r.streams: shape.Schema{"schema": of}}}
	}
	return shape.Schema{"description": "carried out", "content": shape.Schema{
		"application/json": shape.Schema{"schema": schemas.Answer(r.answer)}}}
}

// parameters are the fields of a request in a query.
func (r *route) parameters(schemas shape.Schemas) (all []shape.Schema) {
	for _, f := range shape.Fields(r.request) {
		p := shape.Schema{"name": f.Name, "in": "query", "schema": schemas.OfField(&f, false)}
		if f.About != "" {
			p["description"] = f.About
		}
		if f.Required {
			p["required"] = true
		}
		all = append(all, p)
	}
	return all
}
