package http

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
)

// schema is a JSON schema in the OpenAPI document.
type schema struct {
	Ref        string `json:"$ref"`
	Type       string
	Enum       []string
	AllOf      []*schema
	Items      *schema
	Properties map[string]*schema
	Required   []string
	Additional *schema `json:"additionalProperties"`
}

// parameter is a request parameter in the document.
type parameter struct{ Name, In string }

// content is a request or response body in the document, by media type.
type content map[string]struct{ Schema *schema }

// described is the parsed document.
var described = sync.OnceValue(func() (d struct {
	Paths map[string]map[string]struct {
		Tags        []string
		Parameters  []parameter
		RequestBody struct{ Content content }
		Responses   map[string]struct{ Content content }
	}
	Components struct{ Schemas map[string]*schema }
}) {
	if err := json.Unmarshal(document(), &d); err != nil {
		panic(err)
	}
	return d
})

// refers returns the schema's name in the document, empty for a schema without a name.
func (s *schema) refers() string { return strings.TrimPrefix(s.Ref, "#/components/schemas/") }

// shapes compares responses with the document, and counts which fields the objects in responses have. Observations of
// hosts are not counted, because the fields depend on the time of the observation.
type shapes struct {
	mu   sync.Mutex
	seen map[string]map[string]int // by schema and field; the field "" counts objects
}

// add counts the fields in a response, and returns what differs from the document.
func (s *shapes) add(method, address string, r reply) (mistakes []string) {
	path, _, _ := strings.Cut(address, "?")
	operation := described().Paths[path][strings.ToLower(method)]
	kind, code := r.header.Get("Content-Type"), "default"
	if r.code == http.StatusOK {
		code = "200"
	}
	of := operation.Responses[code].Content[kind].Schema
	if of == nil || !strings.HasSuffix(kind, "json") {
		return nil
	}
	var value any
	if err := json.Unmarshal([]byte(r.text), &value); err != nil {
		return []string{err.Error()}
	}
	if method == http.MethodGet && slices.Contains(operation.Tags, "Hosts") {
		return new(shapes).compare(of, value)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.compare(of, value)
}

// compare compares a decoded value with its schema.
func (s *shapes) compare(of *schema, value any) (mistakes []string) {
	for _, base := range of.AllOf {
		mistakes = append(mistakes, s.compare(base, value)...)
	}
	switch v := value.(type) {
	case map[string]any:
		if name := of.refers(); name != "" {
			of = described().Components.Schemas[name]
			s.count(name, v)
		}
		for _, field := range of.Required {
			if _, ok := v[field]; !ok {
				mistakes = append(mistakes, field+" is required and missing")
			}
		}
		for field, value := range v {
			switch {
			case of.Properties[field] != nil:
				mistakes = append(mistakes, s.compare(of.Properties[field], value)...)
			case of.Properties != nil && of.Additional == nil:
				mistakes = append(mistakes, field+" is not in the document")
			}
		}
	case []any:
		if of.Items == nil {
			return append(mistakes, fmt.Sprintf("%v is not in the document as a list", v))
		}
		for _, item := range v {
			mistakes = append(mistakes, s.compare(of.Items, item)...)
		}
	case string:
		if len(of.Enum) > 0 && !slices.Contains(of.Enum, v) {
			mistakes = append(mistakes, fmt.Sprintf("%s is not one of %s", v, of.Enum))
		}
	}
	return mistakes
}

func (s *shapes) count(name string, object map[string]any) {
	if s.seen == nil {
		s.seen = make(map[string]map[string]int)
	}
	if s.seen[name] == nil {
		s.seen[name] = make(map[string]int)
	}
	s.seen[name][""]++
	for field := range object {
		s.seen[name][field]++
	}
}

// requested returns the schemas that requests use. These schemas require what requests need.
func requested() map[string]bool {
	all := make(map[string]bool)
	var add func(of *schema)
	add = func(of *schema) {
		if of == nil || all[of.refers()] {
			return
		}
		if name := of.refers(); name != "" {
			all[name] = true
			of = described().Components.Schemas[name]
		}
		add(of.Items)
		for _, part := range slices.Concat(of.AllOf, slices.Collect(maps.Values(of.Properties))) {
			add(part)
		}
	}
	for _, path := range described().Paths {
		for _, operation := range path {
			for _, body := range operation.RequestBody.Content {
				add(body.Schema)
			}
		}
	}
	return all
}

// mayBeAbsent lists, by schema, fields that are optional although the test's responses have them: what callers give or
// not, what hosts may not know, and what is missing before the first event.
var mayBeAbsent = map[string]string{
	"admin_entry":             "author host host_name message reason",
	"client_info":             "address name version",
	"described_owner":         "client since data description",
	"described_semaphore":     "count data owner_count waiter_count",
	"described_waiter":        "client since data description wait_ms",
	"held_session":            "client description owned since waiting",
	"holding":                 "count order_id role since",
	"in_node_config_entry":    "value",
	"in_node_process_summary": "members",
	"in_node_rollout_summary": "label latest_version locations",
	"in_node_session_info":    "client description owned since waiting",
	"match":                   "name node",
	"owner":                   "client since data",
	"process_action_record":   "action id time",
	"process_block_reason":    "since",
	"process_state":           "last_action revision since spec spec_revision",
	"rollout_action_record":   "action id time",
	"config_value":            "revision value",
	"contention":              "count owner owner_count waiter waiter_count",
	"in_node_semaphore_info":  "count data owner_count waiter_count",
	"rollout_block_reason":    "since",
	"owners_view":             "count data limit revision",
	"rollout_halt":            "author since",
	"rollout_state":           "last_action latest_version paused revision spec spec_revision",
	"rollout_version":         "label published",
	"timestamp":               "age_ms shard_time_ms wall_time",
}

// requireAllAlwaysPresent fails the test for optional fields that all objects in responses have. Structures in requests
// are left out.
func (s *shapes) requireAllAlwaysPresent(t *testing.T) {
	t.Helper()
	inRequests := requested()
	for name, seen := range s.seen {
		known := append(strings.Fields(mayBeAbsent[name]), described().Components.Schemas[name].Required...)
		for field, n := range seen {
			if n == seen[""] && field != "" && !slices.Contains(known, field) && !inRequests[name] {
				t.Errorf("all %d objects %s have %s: tag the field with omit:\"never\"", n, name, field)
			}
		}
	}
}
