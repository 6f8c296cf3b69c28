package http

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"sync"

	"github.com/signalbox/signalbox/internal/apijson"
)

// sequencedRoutes are session changes with sequence numbers, and unsequencedRoutes the other session routes.
var (
	sequencedRoutes   = []string{version + "/semaphore/acquire", version + "/semaphore/release", version + updateRoute}
	unsequencedRoutes = []string{version + "/session/keep-alive", version + "/session/close"}
)

// headers returns a route's header parameters.
func (r *route) headers() []apijson.Schema {
	session := inHeader(sessionHeader, "Session id returned by /v1/session/create", true)
	reason := inHeader(reasonHeader, "Reason recorded in the audit log, URL-encoded", false)
	switch {
	case slices.Contains(sequencedRoutes, r.path):
		all := []apijson.Schema{
			session,
			inHeader(sequenceHeader, "Sequence number: larger than all earlier numbers in the session. A "+
				"repeated request has the same number; without a number its outcome may be unknown", false),
			inHeader(acknowledgedHeader,
				"Sequence number up to which the caller has received all answers. Default: the number before "+
					"this request", false),
		}
		if r.path == version+updateRoute {
			session["required"], session["description"] = false, "Session that owns the semaphore, for an update "+
				"with a fence"
			all = append(all, reason)
		}
		return all
	case slices.Contains(unsequencedRoutes, r.path):
		return []apijson.Schema{session}
	case r.streams == eventStreamType:
		return []apijson.Schema{inHeader(lastEventHeader,
			"Last event id of an earlier stream: responses that the stream has sent are not sent again", false)}
	case r.changes() && r.group != groupConsole && !r.keepsReason() && r.right != "acquire":
		return []apijson.Schema{reason}
	}
	return nil
}

func inHeader(name, about string, required bool) apijson.Schema {
	return apijson.Schema{
		"name": name, "in": "header", "required": required, "description": about,
		"schema": apijson.Schema{"type": "string"},
	}
}

// document is the OpenAPI document for the table, as indented JSON.
var document = sync.OnceValue(func() []byte {
	schemas, paths := apijson.Schemas{}, apijson.Schema{}
	all := table()
	for i := range all {
		if all[i].changes() {
			schemas.Request(all[i].request) // before answers: a structure in both is defined as in requests
		}
	}
	failed := apijson.Schema{"description": "The request failed: problem and remedy", "content": apijson.Schema{
		problemType: apijson.Schema{"schema": schemas.Answer(reflect.TypeFor[problem]())}}}
	for i := range all {
		r := &all[i]
		if paths[r.path] == nil {
			paths[r.path] = apijson.Schema{}
		}
		paths[r.path].(apijson.Schema)[strings.ToLower(r.method)] = r.operation(schemas, failed)
	}
	text, err := json.MarshalIndent(apijson.Schema{
		"openapi": "3.0.3",
		"info": apijson.Schema{"title": "Signalbox", "version": "1",
			"description": "64-bit integers are strings. Times are RFC 3339, durations are milliseconds. Fields " +
				"with a zero value are omitted, unless they are required."},
		"servers": []apijson.Schema{
			{"url": "/", "description": "The host with the document"},
			{"url": "{scheme}://{host}:{port}", "description": "Any host in the cluster", "variables": apijson.Schema{
				"scheme": apijson.Schema{"default": "http", "enum": []string{"http", "https"}},
				"host":   apijson.Schema{"default": "127.0.0.1"}, "port": apijson.Schema{"default": "7424"},
			}},
		},
		"security": []apijson.Schema{{"token": []string{}}, {}},
		"paths":    paths,
		"components": apijson.Schema{"schemas": schemas, "securitySchemes": apijson.Schema{
			"token": apijson.Schema{"type": "http", "scheme": "bearer"}}},
	}, "", "  ")
	if err != nil {
		panic("cannot write the OpenAPI document: " + err.Error()) // all parts are made here
	}
	return text
})

// operation describes a route.
func (r *route) operation(schemas apijson.Schemas, failed apijson.Schema) apijson.Schema {
	responses := apijson.Schema{"200": r.success(schemas), "default": failed}
	operation := apijson.Schema{
		"operationId": r.name(), "tags": []string{r.group}, "summary": r.does, "x-signalbox-permission": r.right,
		"responses": responses,
	}
	if slices.Contains(sequencedRoutes, r.path) {
		responses["422"] = apijson.Schema{
			"description": "The sequence number was used for another request, and nothing happened: use the next " +
				"number",
			"content": failed["content"],
		}
	}
	parameters := r.headers()
	if r.changes() {
		operation["requestBody"] = apijson.Schema{"required": true, "content": apijson.Schema{
			"application/json": apijson.Schema{"schema": schemas.Request(r.request)}}}
	} else {
		parameters = append(parameters, r.parameters(schemas)...)
	}
	if len(parameters) > 0 {
		operation["parameters"] = parameters
	}
	return operation
}

// success describes a route's response.
func (r *route) success(schemas apijson.Schemas) apijson.Schema {
	if r.answer == nil {
		of := apijson.Schema{"type": "string"}
		if !strings.HasPrefix(r.streams, "text/") {
			of["format"] = "binary"
		}
		return apijson.Schema{"description": r.does, "content": apijson.Schema{r.streams: apijson.Schema{"schema": of}}}
	}
	return apijson.Schema{"description": "Success", "content": apijson.Schema{
		"application/json": apijson.Schema{"schema": schemas.Answer(r.answer)}}}
}

// parameters returns a request's query fields.
func (r *route) parameters(schemas apijson.Schemas) (all []apijson.Schema) {
	for _, f := range apijson.Fields(r.request) {
		p := apijson.Schema{"name": f.Name, "in": "query", "schema": schemas.OfField(&f, false)}
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
