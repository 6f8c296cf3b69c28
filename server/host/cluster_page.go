package host

import (
	"slices"
	"strings"
	"time"

	"github.com/signalbox/signalbox/protocol/health"
	"github.com/signalbox/signalbox/protocol/host"
	"github.com/signalbox/signalbox/server/admin"
	"github.com/signalbox/signalbox/server/health/overview"
)

// Cluster implements admin.Host.
func (h *Host) Cluster() (admin.Cluster, error) {
	core := h.core.Load()
	if core == nil {
		return admin.Cluster{}, h.awaited()
	}
	shown, err := core.Overview()
	if err != nil {
		return admin.Cluster{}, err
	}
	page := clusterPage(&shown)
	page.HealthIssues = issuesOf(core.HealthIssues())
	return page, nil
}

// clusterPage converts a cluster to the page's form.
func clusterPage(c *overview.Cluster) admin.Cluster {
	page := admin.Cluster{
		ID: c.Records.Cluster(), Generation: c.Records.Generation().Number, Governor: uint64(c.Governor),
		Governs: c.Governs, Observed: c.Seen != nil, Shards: c.Shards(),
	}
	page.Hosts = slices.DeleteFunc(c.Hosts(), func(h host.Host) bool { return h.Target.State == host.Expelled })
	for i := range page.Hosts {
		if page.Hosts[i].ID == page.Governor {
			page.GovernorPages = page.Hosts[i].AdminAddress
		}
	}
	for _, r := range c.Redundancies() {
		if page.Tolerated == nil || r.Tolerated < *page.Tolerated {
			page.Tolerated = &r.Tolerated
		}
	}
	return page
}

// issuesOf converts the host's health issues to the pages' form.
func issuesOf(list []health.Issue) []admin.HealthIssue {
	shown := []admin.HealthIssue{}
	for i := range list {
		c := &list[i]
		to := admin.HealthIssue{Kind: string(c.Kind), Severity: word(c.Severity), Subject: c.Subject, Node: c.Node,
			Name: c.Name, Host: c.Host, Shards: c.Shards, WaitsFor: c.WaitsFor, Do: c.Do, Text: c.Text, More: c.More}
		if !c.Since.IsZero() {
			to.Since = c.Since.UTC().Format(time.RFC3339)
		}
		shown = append(shown, to)
	}
	return shown
}

// word formats a value for the pages.
func word(v interface{ String() string }) string { return strings.ToLower(v.String()) }
