package http

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/signalbox/signalbox/internal/apijson"
	"github.com/signalbox/signalbox/internal/auditlimit"
)

// A change whose request has a reason field stores the reason in the audit log directly. For other changes the reason
// comes in a header, and the gateway writes the reason to the cluster's audit log.

// reasonHeader is the reason for a change, URL-escaped.
const reasonHeader = "Signalbox-Reason"

// Act is a change requested with a reason.
type Act struct {
	Token string // from the request; empty if none
	From  string // caller's address
	What  string // in words
	Why   string
}

// noteTimeout is for how long the gateway tries to have an act in the history.
const noteTimeout = 30 * time.Second

// acts are the acts waiting for the history.
type acts struct {
	queue chan Act
	limit auditlimit.Limit
}

// runActs writes acts into the history until the gateway is closed.
func (g *Gateway) runActs() {
	for {
		select {
		case <-g.ctx.Done():
			return
		case act := <-g.acts.queue:
			ctx, cancel := context.WithTimeout(g.ctx, noteTimeout)
			if err := g.config.Note(ctx, act); err != nil {
				g.log.Warn("the audit log has no entry for an action", "operation", act.What, "why", act.Why,
					"from", act.From, "error", err)
			}
			cancel()
		}
	}
}

// note logs the changes made by a browser, and the changes made for a reason. The history gets changes with a reason,
// unless nothing happened.
func (g *Gateway) note(c *call, of *route, err error) {
	reason, _ := url.PathUnescape(c.r.Header.Get(reasonHeader))
	reason = strings.TrimSpace(strings.ToValidUTF8(reason, ""))
	if !of.changes() || of.group == groupConsole || reason == "" && !byBrowser(c.r) {
		return
	}
	what := describe(of, c.asked)
	g.log.Info("a change was requested", "operation", what, "from", c.address, "reason", reason, "error", err)
	if reason == "" || g.config.Note == nil || of.keepsReason() || of.right == "acquire" {
		return
	}
	switch unknown := problemCode(err) == http.StatusServiceUnavailable; {
	case err != nil && !unknown:
		return
	case unknown:
		what = "perhaps " + what
	}
	act := Act{Token: c.token, From: c.address, What: what, Why: reason}
	if !g.acts.limit.Admit(time.Now()) {
		g.log.Warn("no audit log entry for an action: too many actions", "operation", what)
		return
	}
	select {
	case g.acts.queue <- act:
	default:
		g.log.Warn("no audit log entry for an action: too many entries are waiting", "operation", what)
	}
}

// keepsReason reports whether the request has a place for the reason.
func (r *route) keepsReason() bool {
	return slices.ContainsFunc(apijson.Fields(r.request), func(f apijson.Field) bool { return f.Name == "reason" })
}

// describe returns a request in words: the route's words and the human-readable members.
func describe(of *route, asked any) string {
	words := strings.ReplaceAll(strings.TrimPrefix(of.path, version+"/"), "/", " ")
	v := reflect.ValueOf(asked)
	if !v.IsValid() {
		return words
	}
	var members []string
	for _, f := range apijson.Fields(v.Elem().Type()) {
		value, err := v.Elem().FieldByIndexErr(f.Index)
		if err != nil || value.IsZero() {
			continue
		}
		switch value.Kind() {
		case reflect.Bool:
			members = append(members, f.Name)
		case reflect.String, reflect.Int, reflect.Uint64, reflect.Int64:
			members = append(members, fmt.Sprintf("%s %v", f.Name, value.Interface()))
		}
	}
	if len(members) == 0 {
		return words
	}
	return words + ": " + strings.Join(members, ", ")
}
