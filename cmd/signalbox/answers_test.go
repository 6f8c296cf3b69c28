package main

import (
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/signalbox/signalbox/client/admin"
	"github.com/signalbox/signalbox/cmd/signalbox/hosts"
	"github.com/signalbox/signalbox/cmd/signalbox/internal/cli"
	"github.com/signalbox/signalbox/cmd/signalbox/semaphore"
)

// answer is a command whose -o json prints the response of an HTTP API route, or part of the response.
type answer struct {
	command string // NODE and SESSION are placeholders for the test's node and session
	words   int    // number of words in the command's name
	route   string // GET with its query, or POST
	body    string // POST body; names a different object than the command
	part    string // response member; [] follows if the command prints a line per item
	adds    string // members that the command adds
	differs string // members that differ between objects
}

// routeOnly is the route without its query.
func (a *answer) routeOnly() string {
	route, _, _ := strings.Cut(a.route, "?")
	return route
}

// answers has a row for each command that matches a route, in an order in which all rows can run.
var answers = []answer{
	{command: "node describe NODE", words: 2, route: "GET /v1/node?node=NODE"},
	{command: "node list NODE", words: 2, route: "GET /v1/nodes?prefix=NODE", part: "items[]"},
	{command: "semaphore describe NODE jobs --strict", words: 2, route: "GET /v1/semaphore?node=NODE&name=jobs&strict",
		differs: "description"},
	{command: "semaphore list NODE --with-data", words: 2, route: "GET /v1/semaphores?node=NODE&data", part: "items[]"},
	{command: "semaphore list", words: 2, route: "GET /v1/semaphores", part: "items[]"},
	{command: "session list NODE", words: 2, route: "GET /v1/sessions?node=NODE", part: "items[]"},
	{command: "session show SESSION", words: 2, route: "GET /v1/session?id=SESSION", adds: "node"},
	{command: "discover list NODE api", words: 2, route: "GET /v1/endpoints?node=NODE&name=api", part: "endpoints[]"},
	{command: "config get NODE limits", words: 2, route: "GET /v1/config?node=NODE&name=limits"},
	{command: "config list NODE", words: 2, route: "GET /v1/configs?node=NODE", part: "items[]"},
	{command: "elect NODE boss --observe", words: 1, route: "GET /v1/election/leader?node=NODE&name=boss"},
	{command: "rollout list NODE", words: 2, route: "GET /v1/rollouts?node=NODE", part: "items[]"},
	{command: "rollout status NODE dns", words: 2, route: "GET /v1/rollout?node=NODE&name=dns"},
	{command: "rollout why NODE dns", words: 2, route: "GET /v1/rollout?node=NODE&name=dns", part: "reasons[]"},
	{command: "rollout versions NODE dns", words: 2, route: "GET /v1/rollout?node=NODE&name=dns", part: "versions[]"},
	{command: "rollout spec NODE dns", words: 2, route: "GET /v1/rollout?node=NODE&name=dns", part: "spec"},
	{command: "rollout instances NODE dns sas", words: 2,
		route: "GET /v1/rollout/instances?node=NODE&name=dns&location=sas", part: "items[]"},
	{command: "rollout history NODE dns sas", words: 2,
		route: "GET /v1/rollout/history?node=NODE&name=dns&location=sas", part: "items[]", differs: "location"},
	{command: "rollout actions NODE dns", words: 2, route: "GET /v1/rollout/actions?node=NODE&name=dns",
		part: "items[]"},
	{command: "process list NODE", words: 2, route: "GET /v1/processes?node=NODE", part: "items[]"},
	{command: "process status NODE counter", words: 2, route: "GET /v1/process?node=NODE&name=counter"},
	{command: "process why NODE counter", words: 2, route: "GET /v1/process?node=NODE&name=counter", part: "reasons[]"},
	{command: "process members NODE counter", words: 2, route: "GET /v1/process?node=NODE&name=counter",
		part: "members[]"},
	{command: "process actions NODE counter", words: 2, route: "GET /v1/process/actions?node=NODE&name=counter",
		part: "items[]"},
	{command: "cluster describe", words: 2, route: "GET /v1/cluster"},
	{command: "host list", words: 2, route: "GET /v1/cluster", part: "hosts[]", adds: "at_target replicas"},
	{command: "host show signalbox", words: 2, route: "GET /v1/cluster", part: "hosts[]", adds: "at_target replicas"},
	{command: "shard list", words: 2, route: "GET /v1/cluster", part: "shards[]"},
	{command: "slot list NODE jobs --shard 1", words: 2, route: "GET /v1/slots?shard=1&node=NODE&name=jobs"},
	{command: "cluster rebalance", words: 2, route: "GET /v1/rebalance"},
	{command: "cluster policy get", words: 3, route: "GET /v1/cluster", part: "policy"},
	{command: "cluster why", words: 2, route: "GET /v1/why"},
	{command: "cluster step list", words: 3, route: "GET /v1/why", part: "steps[]"},
	{command: "cluster plan", words: 2, route: "GET /v1/cluster/plan"},
	{command: "cluster audit --limit 100", words: 2, route: "GET /v1/cluster/audit?limit=100", part: "items[]"},
	{command: "access denials", words: 2, route: "GET /v1/access/denials", part: "items[]"},

	{command: "shard transfer-leader 1 signalbox", words: 2, route: "POST /v1/shard/transfer-leader",
		body: `{"shard":"1","host":"signalbox","reason":"r"}`, differs: "changed"},
	{command: "slot move 7 --to 1", words: 2, route: "POST /v1/slot/move", body: `{"slot":"7","to":"1","reason":"r"}`},
	{command: "shard weight 1 200", words: 2, route: "POST /v1/shard/weight",
		body: `{"shard":"1","weight":200,"reason":"r"}`, differs: "changed"},
	{command: "cluster rebalance --pause", words: 2, route: "POST /v1/cluster/rebalance",
		body: `{"action":"pause","reason":"r"}`, differs: "changed"},
	{command: "shard add 2", words: 2, route: "POST /v1/shard/add", body: `{"count":1,"reason":"r"}`,
		differs: "shards"},
	{command: "shard remove 2-4", words: 2, route: "POST /v1/shard/remove",
		body: `{"shards":["2","3","4"],"reason":"r"}`, differs: "changed"},
	{command: "node create NODE/a", words: 2, route: "POST /v1/node/create", body: `{"node":"NODE/b"}`,
		differs: "id path"},
	{command: "node alter NODE/a --metrics-level detailed --quota-objects 7", words: 2, route: "POST /v1/node/alter",
		body: `{"node":"NODE/b","config":{"metrics_level":"detailed","quota_objects":7}}`, differs: "id path"},
	{command: "node drop NODE/a --yes", words: 2, route: "POST /v1/node/drop", body: `{"node":"NODE/b"}`},
	{command: "semaphore create NODE a --limit 3", words: 2, route: "POST /v1/semaphore/create",
		body: `{"node":"NODE","name":"b","limit":3}`},
	{command: "semaphore update NODE a x", words: 2, route: "POST /v1/semaphore/update",
		body: `{"node":"NODE","name":"b","data":"x"}`},
	{command: "semaphore resize NODE a 2", words: 2, route: "POST /v1/semaphore/resize",
		body: `{"node":"NODE","name":"b","limit":"2"}`},
	{command: "semaphore delete NODE a", words: 2, route: "POST /v1/semaphore/delete",
		body: `{"node":"NODE","name":"b"}`},
	{command: "session end SESSION --yes", words: 2, route: "POST /v1/session/destroy", body: `{"id":"1"}`},
	{command: "config put NODE ca x", words: 2, route: "POST /v1/config/put",
		body: `{"node":"NODE","name":"cb","value":"x"}`},
	{command: "rollout create NODE ra --location sas", words: 2, route: "POST /v1/rollout/put",
		body: `{"node":"NODE","name":"rb","spec":{"locations":[{"name":"sas"}]}}`},
	{command: "rollout alter NODE ra --location man:5s", words: 2, route: "POST /v1/rollout/put",
		body: `{"node":"NODE","name":"rb","spec":{"locations":[{"name":"sas"},{"name":"man","delay_ms":5000}]}}`},
	{command: "rollout publish NODE ra one", words: 2, route: "POST /v1/rollout/publish",
		body: `{"node":"NODE","name":"rb","payload":"one"}`},
	act("pause", "", ""), act("resume", "", ""), act("promote", "", ""),
	act("bypass", " --location man", `,"locations":["man"]`),
	act("unbypass", " --location man", `,"locations":["man"]`),
	act("rollback", " --to 1", `,"version":"1"`),
	act("abort", "", ""), act("retry", "", ""), act("withdraw", " 1", `,"version":1`),
	{command: "rollout delete NODE ra", words: 2, route: "POST /v1/rollout/delete",
		body: `{"node":"NODE","name":"rb"}`},
	{command: "process create NODE pa", words: 2, route: "POST /v1/process/put",
		body: `{"node":"NODE","name":"pb","spec":{}}`},
	{command: "process alter NODE pa --min-members 2", words: 2, route: "POST /v1/process/put",
		body: `{"node":"NODE","name":"pb","spec":{"min_members":2}}`},
	{command: "process restart NODE pa", words: 2, route: "POST /v1/process/restart",
		body: `{"node":"NODE","name":"pb"}`},
	{command: "process evict NODE counter a", words: 2, route: "POST /v1/process/evict",
		body: `{"node":"NODE","name":"counter","member":"MEMBER"}`},
	{command: "process delete NODE pa", words: 2, route: "POST /v1/process/delete",
		body: `{"node":"NODE","name":"pb"}`},
	{command: "access grant anonymous root /", words: 2, route: "POST /v1/access/grant",
		body: `{"principal":"anonymous","role":"admin","path":"/","reason":"r"}`},
	{command: "access role set a --rule read:/", words: 3, route: "POST /v1/access/role/set",
		body: `{"role":"b","rules":[{"path":"/","permissions":["read"]}],"reason":"r"}`},
	{command: "access role list", words: 3, route: "GET /v1/access/roles", part: "items[]"},
	{command: "access token create a --grant a:NODE", words: 3, route: "POST /v1/access/token/create",
		body: `{"name":"b","sha256":"` + strings.Repeat("1", 64) + `","reason":"r"}`, adds: "principal text"},
	{command: "access grant token:a b NODE", words: 2, route: "POST /v1/access/grant",
		body: `{"principal":"token:b","role":"b","path":"NODE","reason":"r"}`},
	{command: "access list", words: 2, route: "GET /v1/access/principals", part: "items[]"},
	{command: "access who-can read NODE", words: 2, route: "GET /v1/access/who-can?permission=read&node=NODE",
		part: "items[]"},
	{command: "access revoke token:a b NODE", words: 2, route: "POST /v1/access/revoke",
		body: `{"principal":"token:b","role":"b","path":"NODE","reason":"r"}`},
	{command: "access token revoke a", words: 3, route: "POST /v1/access/token/revoke",
		body: `{"name":"b","reason":"r"}`},
	{command: "access role delete a", words: 3, route: "POST /v1/access/role/delete",
		body: `{"role":"b","reason":"r"}`},
	{command: "host join-token create --ttl 1h", words: 3, route: "POST /v1/join-token/create",
		body: `{"id":"b","sha256":"` + strings.Repeat("2", 64) + `","ttl_ms":3600000,"reason":"r"}`, adds: "text",
		differs: "id author"},
	{command: "host join-token list", words: 3, route: "GET /v1/join-tokens", part: "items[]"},
	{command: "host cordon signalbox", words: 2, route: "POST /v1/host/cordon",
		body: `{"host":"signalbox","reason":"r"}`, differs: "changed"},
	{command: "host uncordon signalbox", words: 2, route: "POST /v1/host/uncordon",
		body: `{"host":"signalbox","reason":"r"}`, differs: "changed"},
	{command: "host alter signalbox --failure-domain dc=a", words: 2, route: "POST /v1/host/alter",
		body: `{"host":"signalbox","domain":"dc=b","reason":"r"}`},
	{command: "host undrain signalbox", words: 2, route: "POST /v1/host/undrain",
		body: `{"host":"signalbox","reason":"r"}`},
	{command: "cluster policy set --max-replica-builds 2", words: 3, route: "POST /v1/cluster/policy/set",
		body: `{"max_replica_builds":2,"reason":"r"}`},
}

// act is a row for an act on a rollout.
func act(verb, flags, members string) answer {
	return answer{command: "rollout " + verb + " NODE ra" + flags, words: 2, route: "POST /v1/rollout/action",
		body: `{"node":"NODE","name":"rb","action":"` + verb + `"` + members + `}`}
}

// withoutPair lists the routes without a command in the table: routes for sessions and browsers, responses that
// commands combine, and actions that need more hosts or more running work than the test has.
var withoutPair = strings.Fields(`/v1/semaphore/acquire /v1/semaphore/release /v1/session/create /v1/session/keep-alive
	/v1/session/close /v1/login /v1/logout /v1/events /v1/backup /v1/hosts /v1/health /v1/host/load /v1/cluster/load
	/v1/cluster/leaders /v1/cluster/traffic /v1/contention /v1/search /v1/discovery /v1/semaphore/owners
	/v1/rollout/gate/report
	/v1/host/drain /v1/host/expel /v1/access/import /v1/host/replace /v1/shard/recover /v1/cluster/step/cancel
	/v1/cluster/step/retry /v1/join-token/revoke`)

// TestEachRouteHasItsCommand, or is listed in withoutPair.
func TestEachRouteHasItsCommand(t *testing.T) {
	text, err := os.ReadFile("../../gateway/http/openapi.json")
	if err != nil {
		t.Fatal(err)
	}
	var document struct{ Paths map[string]any }
	if err := json.Unmarshal(text, &document); err != nil || len(document.Paths) < 50 {
		t.Fatal(err, len(document.Paths))
	}
	for path := range document.Paths {
		paired := slices.ContainsFunc(answers, func(a answer) bool {
			return strings.HasSuffix(a.routeOnly(), " "+path)
		})
		if paired == slices.Contains(withoutPair, path) {
			t.Errorf("%s: a command prints its answer: %t", path, paired)
		}
	}
}

// passing lists members that change between two reads: ages, and values that advance without a command.
var passing = strings.Fields(`uptime_ms age_ms last_contact_ms up_to_date_for_ms behind_ms remaining_ms expires_in_ms
	leader_age_ms report_age_ms expires leadership_confirmed observed revision existed time created shard_time_ms
	wall_time`)

// TestJSONIsTheAnswerOfTheHTTPAPI for each command that matches a route.
func TestJSONIsTheAnswerOfTheHTTPAPI(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.HTTP = newPlace(t).Client
	x, raft := newTool(t, p.Client).with("USER=ann"), []string{"--raft-listen", newPlace(t).Client}
	x.ok(append([]string{"init", "--data-dir", p.Dir, "--name", "signalbox"}, raft...)...)
	p.serve(t, append(raft, "--name", "signalbox")...).awaitReady()
	x.await("the governor has the host online", func() bool {
		h := parsed[hosts.HostView](t, x.ok("host", "show", "signalbox", "-o", "json"))
		return h.Current.State == admin.Online && h.AtTarget
	})
	const node = "/prod"
	for _, line := range []string{
		"node create /prod", "semaphore create /prod jobs --limit 2 --data <some>", "config put /prod limits 8",
		"rollout create /prod dns --location sas --location man:5s:errors",
		"rollout publish /prod dns zones --label r1",
	} {
		x.ok(strings.Fields(line)...)
	}
	owner := x.start("semaphore", "acquire", node, "jobs", "--count", "2", "-o", "json", longSession[0], longSession[1])
	session := decimal(parsed[semaphore.Acquired](t, owner.awaitLine(1)).SessionID)
	x.start("semaphore", "acquire", node, "jobs", longSession[0], longSession[1]).remarks("waiting in the queue")
	x.start("discover", "register", node, "api", "10.0.0.7:80", "--metadata", "zone=b").awaitLine(1)
	x.start("elect", node, "boss", "--data", "one", "--", "sh", "-c", lead).says("leads boss ")
	x.follow(node, "sas", "cat", "--leader").says("zones")
	member := x.start("process", "run", node, "counter", "--name", "a", longSession[0], longSession[1])
	member.remarks(": a is member ")
	other := x.start("process", "run", node, "counter", "--name", "b", longSession[0], longSession[1])
	other.remarks(": b is member ")
	members := objectsIn(t, x.ok("process", "members", node, "counter", "-o", "json"))
	ids := strings.NewReplacer("NODE", node, "SESSION", session, "MEMBER", members[1].(map[string]any)["id"].(string))
	for _, a := range answers {
		t.Run(a.command+" "+a.routeOnly(), func(t *testing.T) {
			x := *x
			x.t = t
			args := append(strings.Fields(ids.Replace(a.command)), "-o", "json")
			method, route, _ := strings.Cut(ids.Replace(a.route), " ")
			for late := time.Now().Add(changing); ; {
				printed := objectsIn(t, x.ok(args...))
				said, answered := a.answered(t, method, "http://"+p.HTTP+route, ids.Replace(a.body))
				got, want := a.without(printed), a.without(answered)
				if reflect.DeepEqual(got, want) {
					return
				}
				// The object may change between the two reads.
				if method == http.MethodPost || time.Now().After(late) {
					t.Fatalf("it prints\n%v\nand not\n%v\nof %s", got, want, said)
				}
			}
		})
	}
}

// changing is the maximum time for the host to finish changes that the test started.
const changing = 15 * time.Second

// objectsIn parses lines of JSON.
func objectsIn(t *testing.T, lines string) (list []any) {
	t.Helper()
	for line := range strings.Lines(lines) {
		var object any
		if err := json.Unmarshal([]byte(line), &object); err != nil {
			t.Fatalf("%v: %s", err, line)
		}
		list = append(list, object)
	}
	return list
}

// answered returns a route's response in the line format of the command.
func (a *answer) answered(t *testing.T, method, address, body string) (text string, list []any) {
	t.Helper()
	code := 0
	if method == http.MethodPost {
		code, text = postJSON(t, http.DefaultClient, address, "", body)
	} else {
		path, query, _ := strings.Cut(address, "?")
		values, err := url.ParseQuery(query)
		if err != nil {
			t.Fatal(err)
		}
		got, err := http.Get(path + "?" + values.Encode())
		if err != nil {
			t.Fatal(err)
		}
		defer got.Body.Close()
		all, err := io.ReadAll(got.Body)
		if err != nil {
			t.Fatal(err)
		}
		code, text = got.StatusCode, string(all)
	}
	if code != http.StatusOK {
		t.Fatalf("%s: %d %s", address, code, text)
	}
	whole := objectsIn(t, text)
	if a.part == "" {
		return text, whole
	}
	name, items := strings.CutSuffix(a.part, "[]")
	of := whole[0].(map[string]any)[name]
	if items {
		return text, of.([]any)
	}
	return text, []any{of}
}

// without removes passing members, members that a command adds, and members that differ between objects.
func (a *answer) without(v any) any {
	switch v := v.(type) {
	case []any:
		list := []any{}
		for _, item := range v {
			list = append(list, a.without(item))
		}
		return list
	case map[string]any:
		left := make(map[string]any)
		for name, member := range v {
			if !slices.Contains(passing, name) && !slices.Contains(strings.Fields(a.adds+" "+a.differs), name) {
				left[name] = a.without(member)
			}
		}
		return left
	}
	return v
}

// TestFiltersInHelpNameFieldsThatAreThere: a jq filter in an example names only fields that the preceding command
// prints.
func TestFiltersInHelpNameFieldsThatAreThere(t *testing.T) {
	text, err := os.ReadFile("../../gateway/http/openapi.json")
	if err != nil {
		t.Fatal(err)
	}
	var document map[string]any
	if err := json.Unmarshal(text, &document); err != nil {
		t.Fatal(err)
	}
	known := make(map[string][]string) // by command
	for _, a := range answers {
		command := strings.Join(strings.Fields(a.command)[:a.words], " ")
		method, path, _ := strings.Cut(a.routeOnly(), " ")
		of := member(document, "paths", path, strings.ToLower(method), "responses", "200")
		known[command] = append(known[command], properties(document, of)...)
	}
	for _, o := range ownObjects {
		group := ""
		for command := range strings.SplitSeq(o.commands, ", ") {
			words := strings.Fields(command)
			if len(words) > 1 {
				group = words[0]
			} else if group != "" {
				command = group + " " + command
			}
			fields := strings.Join(fieldNames("", reflect.TypeOf(o.object)), ".")
			known[command] = append(known[command],
				strings.FieldsFunc(fields, func(r rune) bool { return strings.ContainsRune(".[]", r) })...)
		}
	}
	known["process watch"], known["config watch"] = known["process status"], known["config get"]
	found := 0
	for _, c := range everyCommand(newRoot(cli.Streams{})) {
		name := title(c)
		for line := range strings.Lines(c.Example) {
			_, filter, ok := strings.Cut(line, "jq ")
			if !ok || strings.HasPrefix(strings.TrimSpace(line), "jq '.workers = 9'") {
				continue
			}
			found++
			command := name
			if strings.Contains(line, "$(signalbox semaphore describe") {
				command = "semaphore describe"
			}
			filter, _, _ = strings.Cut(filter, "<<<")
			for _, m := range nameInFilter.FindAllStringSubmatch(filter, -1) {
				if !slices.Contains(known[command], m[1]+m[2]) {
					t.Errorf("%s: nothing is called %s%s in what %s prints: %s", name, m[1], m[2], command, line)
				}
			}
		}
	}
	if found < 30 {
		t.Errorf("only %d filters were found", found)
	}
}

// nameInFilter finds field names in a filter: after a dot, or alone in braces.
var nameInFilter = regexp.MustCompile(`\.([a-z][a-z_]*)|[{,] ?([a-z][a-z_]+)\b`)

// member returns the value at a path in a document.
func member(of map[string]any, path ...string) map[string]any {
	for _, name := range path {
		of, _ = of[name].(map[string]any)
	}
	return of
}

// properties returns all property names in a section of the document, references included.
func properties(document map[string]any, of any) (names []string) {
	seen := make(map[string]bool)
	var walk func(any)
	walk = func(of any) {
		switch of := of.(type) {
		case []any:
			for _, each := range of {
				walk(each)
			}
		case map[string]any:
			if to, ok := of["$ref"].(string); ok && !seen[to] {
				seen[to] = true
				walk(member(document, strings.Split(strings.TrimPrefix(to, "#/"), "/")...))
			}
			for name := range member(of, "properties") {
				names = append(names, name)
			}
			for _, each := range of {
				walk(each)
			}
		}
	}
	walk(of)
	return names
}
