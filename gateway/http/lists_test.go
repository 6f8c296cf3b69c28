package http

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"testing"
	"time"

	"github.com/signalbox/signalbox/client/admin"
	"github.com/signalbox/signalbox/client/process"
	"github.com/signalbox/signalbox/client/rollout"
	"github.com/signalbox/signalbox/protocol/access"
	"github.com/signalbox/signalbox/server/servertest"
)

// pages reads a list in pages, and calls between before each page but the first, with the previous page's last item.
func (st *stage) pages(address string, limit int, between func(last map[string]any)) (items []map[string]any) {
	st.Helper()
	cursor := ""
	for range 100 {
		var page struct {
			Items  []map[string]any
			More   bool
			Cursor string
		}
		r := st.get(fmt.Sprintf("%s&limit=%d&cursor=%s", address, limit, url.QueryEscape(cursor)))
		if r.code != http.StatusOK {
			st.Fatalf("%s: %d %s", address, r.code, r.text)
		}
		if err := json.Unmarshal([]byte(r.text), &page); err != nil {
			st.Fatal(err)
		}
		items = append(items, page.Items...)
		if page.More != (page.Cursor != "") || len(page.Items) > limit {
			st.Fatalf("%s: %s", address, r.text)
		}
		if !page.More {
			return items
		}
		if between != nil {
			between(page.Items[len(page.Items)-1])
		}
		cursor = page.Cursor
	}
	st.Fatalf("%s has no end", address)
	return nil
}

// keysOf returns the keys of a list's items.
func keysOf(items []map[string]any) (keys []string) {
	for _, item := range items {
		keys = append(keys, fmt.Sprint(item["node"], item["name"], item["id"], item["path"], item["location"],
			item["generation"]))
	}
	return keys
}

// TestListsComeInPages over all nodes and shards: together the pages equal the list, each item once.
func TestListsComeInPages(t *testing.T) {
	st := newStage(t, nil, servertest.Shards(3))
	ctx := t.Context()
	for _, node := range []string{"/a", "/a/b", "/c"} {
		st.node(node)
		for i := range 7 {
			name := fmt.Sprint("n", i)
			s, err := st.client.Session(ctx, node)
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close(ctx)
			if err := st.client.Node(node).Create(ctx, name, 1, []byte("config")); err != nil {
				t.Fatal(err)
			}
			if err := process.New(st.client, node, "p"+name).Create(ctx, process.Spec{},
				process.ChangeInfo{}); err != nil {
				t.Fatal(err)
			}
			spec := rollout.Spec{Locations: []rollout.Location{{Name: "sas"}}}
			if err := rollout.New(st.client, node, "r"+name).Create(ctx, spec, rollout.ChangeInfo{}); err != nil {
				t.Fatal(err)
			}
			if node == "/c" {
				instance := rollout.Instance{Name: fmt.Sprint("i", (i*5)%7), Location: "sas"}
				if _, err := rollout.Join(ctx, s, "rn0", instance); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	st.node("/past")
	past := rollout.New(st.client, "/past", "r")
	spec := rollout.Spec{Locations: []rollout.Location{{Name: "sas"}, {Name: "bom"}}}
	if err := past.Create(ctx, spec, rollout.ChangeInfo{}); err != nil {
		t.Fatal(err)
	}
	for i := range 4 {
		seq, err := past.Publish(ctx, []byte{byte(i)})
		if err != nil {
			t.Fatal(err)
		}
		if err := past.Act(ctx, rollout.Action{Kind: rollout.Promote, Seq: seq}); err != nil {
			t.Fatal(err)
		}
	}
	of := admin.New(st.client)
	root := admin.Grant{Role: access.RoleRoot, Path: "/"}
	if _, err := of.Grant(ctx, "anonymous", root, admin.ChangeInfo{}); err != nil {
		t.Fatal(err)
	}
	for i := range 5 {
		name := fmt.Sprint("role", i)
		rules := []admin.Rule{{Path: "/", Rights: access.Read}}
		if _, err := of.SetRole(ctx, admin.AccessRole{Name: name, Rules: rules}, admin.ChangeInfo{}); err != nil {
			t.Fatal(err)
		}
		if i == 0 {
			continue // anonymous is the fifth principal
		}
		grant := admin.Grant{Role: name, Path: "/"}
		if _, err := of.CreateToken(ctx, name, name, time.Time{}, []admin.Grant{grant},
			admin.ChangeInfo{}); err != nil {
			t.Fatal(err)
		}
	}
	for address, want := range map[string]int{
		"/v1/access/roles?": 5, "/v1/access/principals?": 5, "/v1/rollout/history?node=/past&name=r": 8,
		"/v1/rollout/history?node=/past&name=r&location=bom": 4,
		"/v1/nodes?prefix=/": 4, "/v1/semaphores?prefix=n": 21, "/v1/semaphores?node=/a/b": 7, "/v1/sessions?": 21,
		"/v1/sessions?node=/c": 7, "/v1/rollouts?": 22, "/v1/rollouts?node=/a": 7, "/v1/processes?prefix=pn": 21,
		"/v1/configs?": 21, "/v1/discovery?": 0, "/v1/rollout/instances?node=/c&name=rn0&location=sas": 7,
	} {
		whole := st.pages(address, 1000, nil)
		if len(whole) != want {
			t.Errorf("%s has %d items, want %d", address, len(whole), want)
		}
		for _, limit := range []int{1, 2, 7, want} {
			parts := st.pages(address, limit, nil)
			if got, want := fmt.Sprint(keysOf(parts)), fmt.Sprint(keysOf(whole)); got != want {
				t.Errorf("%s by %d is\n%s\nand not\n%s", address, limit, got, want)
			}
		}
	}
	// A page begins after a deleted item.
	parts := st.pages("/v1/semaphores?node=/a", 2, func(last map[string]any) {
		if err := st.client.Node("/a").Delete(ctx, last["name"].(string)); err != nil {
			t.Error(err)
		}
	})
	var names []string
	for _, item := range parts {
		names = append(names, item["name"].(string))
	}
	slices.Sort(names)
	if fmt.Sprint(names) != "[n0 n1 n2 n3 n4 n5 n6]" {
		t.Errorf("while items go, the pages have %v", names)
	}
	for _, cursor := range []string{"!", "YQ"} {
		if r := st.get("/v1/semaphores?cursor=" + cursor); r.code != http.StatusBadRequest {
			t.Errorf("a cursor %s: %d %s", cursor, r.code, r.text)
		}
	}
}
