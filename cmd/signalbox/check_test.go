package main

import (
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/signalbox/signalbox/client"
	"github.com/signalbox/signalbox/cmd/signalbox/internal/cli"
	"github.com/signalbox/signalbox/cmd/signalbox/internal/pages"
	"github.com/signalbox/signalbox/server/admin"
)

// levels are the findings by subject.
func (f *findings) levels() map[string]level {
	m := make(map[string]level)
	for _, one := range f.list {
		m[one.Subject] = one.Level
	}
	return m
}

func TestCheckJudgesACluster(t *testing.T) {
	healthy := func() []client.HostStatus {
		var hosts []client.HostStatus
		for id := uint64(1); id <= 3; id++ {
			hosts = append(hosts, client.HostStatus{
				ID: id, Name: string(rune('a' + id - 1)), Version: "v1", Fresh: true,
				Shards: []client.ShardStatus{{ID: 1, Leader: 2, Term: 3, AppliedIndex: 1_000_000}},
			})
		}
		return hosts
	}
	for what, c := range map[string]struct {
		change  func([]client.HostStatus) []client.HostStatus
		subject string
		want    level
	}{
		"nothing": {func(h []client.HostStatus) []client.HostStatus { return h }, "hosts", levelOK},
		"one is away": {func(h []client.HostStatus) []client.HostStatus { h[0].Err = errors.New("gone"); return h },
			"hosts", levelWarn},
		"two are away": {func(h []client.HostStatus) []client.HostStatus {
			h[0].Err, h[1].Err = errors.New("gone"), errors.New("gone")
			return h
		}, "hosts", levelFail},
		"two hosts": {func(h []client.HostStatus) []client.HostStatus { return h[1:] }, "redundancy", levelWarn},
		"one host":  {func(h []client.HostStatus) []client.HostStatus { return h[1:2] }, "redundancy", levelOK},
		"not fresh": {func(h []client.HostStatus) []client.HostStatus { h[1].Fresh = false; return h }, "freshness",
			levelWarn},
		"a full disk": {func(h []client.HostStatus) []client.HostStatus { h[1].Refusal = "full"; return h }, "changes",
			levelFail},
		"other version": {func(h []client.HostStatus) []client.HostStatus { h[1].Version = "v2"; return h }, "versions",
			levelWarn},
		"far behind": {func(h []client.HostStatus) []client.HostStatus { h[1].Shards[0].AppliedIndex = 5; return h },
			"lag", levelWarn},
		"without a leader": {func(h []client.HostStatus) []client.HostStatus {
			h[1].Shards[0].Leader, h[1].Shards[0].Term = 0, 9
			return h
		}, "leaders", levelFail},
		"an earlier cluster runs": {func(h []client.HostStatus) []client.HostStatus { h[0].Generation = 1; return h },
			"generation", levelFail},
		"restored": {func(h []client.HostStatus) []client.HostStatus {
			for i := range h {
				h[i].Generation = 1
			}
			return h
		}, "generation", levelOK},
	} {
		var x findings
		judgeCluster(c.change(healthy()), nil, &x)
		if got := x.levels(); got[c.subject] != c.want || x.worst() != c.want {
			t.Errorf("%s: %+v", what, x.list)
		}
	}
}

// shardQuota are the series of a shard with so many bytes of a quota, on a host that gives its shards 100.
func shardQuota(level, bytes, quota int) string {
	return fmt.Sprintf("signalbox_feature_level %d\nsignalbox_shard_bytes{shard=\"1\"} %d\n"+
		"signalbox_shard_byte_quota{shard=\"1\"} %d\nsignalbox_shard_byte_quota_setting 100\n"+
		"signalbox_shard_object_quota{shard=\"1\"} 7\nsignalbox_shard_object_quota_setting 7\n", level, bytes, quota)
}

func TestCheckJudgesAHost(t *testing.T) {
	began := time.Now()
	host := func(id uint64, metrics string) pages.Reading {
		m, err := pages.Parse(strings.NewReader("process_open_fds 10\nprocess_max_fds 20000\n" + metrics))
		if err != nil {
			t.Fatal(err)
		}
		return pages.Reading{At: began, Metrics: m, Status: admin.Status{
			Ready: true, Host: admin.HostStatus{ID: id, Name: "a", Started: began.Add(-time.Minute), UptimeSeconds: 60},
			Disk: &admin.Disk{FreeBytes: 50 << 30, TotalBytes: 100 << 30, LowMarkBytes: 1 << 30},
		}}
	}
	syncs := func(below string) string {
		return "signalbox_log_sync_seconds_bucket{le=\"" + below +
			"\"} 100\nsignalbox_log_sync_seconds_sum 1\nsignalbox_log_sync_seconds_count 100\n"
	}
	for what, c := range map[string]struct {
		metrics string
		change  func(*pages.Reading)
		subject string
		want    level
	}{
		"nothing": {"", func(*pages.Reading) {}, "calm of a", levelOK},
		"not ready": {"", func(r *pages.Reading) { r.Status.Ready, r.Status.NotReady = false, "why" }, "host a",
			levelFail},
		"starting": {"", func(r *pages.Reading) { r.Status.Ready, r.Status.Host.UptimeSeconds = false, 1 },
			"host a", levelWarn},
		"nearly full": {"", func(r *pages.Reading) { r.Status.Disk.FreeBytes = 3 << 29 }, "room of a", levelWarn},
		"full":        {"", func(r *pages.Reading) { r.Status.Disk.Refusing = true }, "room of a", levelFail},
		"a good disk": {syncs("0.004"), func(*pages.Reading) {}, "disk of a", levelOK},
		"quotas that no host goes by yet": {
			shardQuota(2, 100, 100), func(*pages.Reading) {}, "calm of a", levelOK,
		},
		"a shard with room":           {shardQuota(3, 79, 100), func(*pages.Reading) {}, "quotas of a", levelOK},
		"a shard that is nearly full": {shardQuota(3, 81, 100), func(*pages.Reading) {}, "quotas of a", levelWarn},
		"a quota of another host": {
			shardQuota(3, 1, 99), func(*pages.Reading) {}, "quota settings of a", levelWarn,
		},
		"a node that is nearly full": {
			shardQuota(3, 1, 100) + "signalbox_node_objects{shard=\"1\",node=\"/b\"} 9\n" +
				"signalbox_node_object_quota{shard=\"1\",node=\"/b\"} 10\n",
			func(*pages.Reading) {}, "quotas of a", levelWarn,
		},
		"a slow disk":     {syncs("0.1"), func(*pages.Reading) {}, "disk of a", levelWarn},
		"a bad disk":      {syncs("0.5"), func(*pages.Reading) {}, "disk of a", levelFail},
		"few open files":  {"process_max_fds -19000", func(*pages.Reading) {}, "open files of a", levelWarn},
		"many open files": {"process_open_fds 19000", func(*pages.Reading) {}, "open files of a", levelWarn},
		"pauses":          {`signalbox_shard_stalls_total{shard="1"} 2`, func(*pages.Reading) {}, "pauses of a", levelWarn},
		"slow watchers":   {`signalbox_shard_slow_watches{shard="1"} 2`, func(*pages.Reading) {}, "slow watchers of a", levelWarn},
		"a new certificate": {
			certificateSeries + `{use="hosts"} ` + strconv.FormatInt(began.Add(90*24*time.Hour).Unix(), 10),
			func(*pages.Reading) {}, "certificate of a for hosts", levelOK,
		},
		"a certificate that ends soon": {
			certificateSeries + `{use="hosts"} ` + strconv.FormatInt(began.Add(24*time.Hour).Unix(), 10),
			func(*pages.Reading) {}, "certificate of a for hosts", levelWarn,
		},
		"a certificate that is over": {
			certificateSeries + `{use="clients"} ` + strconv.FormatInt(began.Add(-time.Hour).Unix(), 10),
			func(*pages.Reading) {}, "certificate of a for clients", levelFail,
		},
		"no pages": {"", func(r *pages.Reading) { r.Err, r.Address = errors.New("refused"), "b:7422" },
			"pages of b:7422", levelWarn},
	} {
		var x findings
		r := host(1, c.metrics)
		c.change(&r)
		checkHosts([]pages.Reading{r}, &x)
		if got, ok := x.levels()[c.subject]; !ok || got != c.want || c.want == levelOK && x.worst() != levelOK {
			t.Errorf("%s: %+v", what, x.list)
		}
	}
	other := host(2, "")
	other.Status.Host.Started = began.Add(-30 * time.Second)
	var x findings
	checkHosts([]pages.Reading{host(1, ""), other}, &x)
	if x.levels()["clocks"] != levelWarn {
		t.Errorf("clocks half a minute apart: %+v", x.list)
	}
}

func TestCheckOfAHostThatRuns(t *testing.T) {
	p, _, _ := lockPlace(t)
	x := newTool(t, p.Client)
	disk := t.TempDir()
	r := x.run("check", "--admin", p.Admin, "--disk", disk, "-o", "json")
	seen := make(map[string]string)
	for line := range strings.Lines(r.out) {
		var f struct{ Level, Subject, Found string }
		if err := json.Unmarshal([]byte(line), &f); err != nil {
			t.Fatalf("%v: %s", err, line)
		}
		seen[f.Subject] = f.Level
	}
	// How fast the disk is, and how busy the machine, is not for a test to say.
	for _, subject := range []string{"hosts", "redundancy", "leaders", "versions", "lag", "host signalbox"} {
		if seen[subject] != "ok" {
			t.Errorf("%s is %q: %s", subject, seen[subject], r.out)
		}
	}
	for _, subject := range []string{"freshness", "room of signalbox", "open files of signalbox", "disk at " + disk} {
		if seen[subject] == "" {
			t.Errorf("nothing of %s: %s", subject, r.out)
		}
	}
	if left, err := os.ReadDir(disk); err != nil || len(left) != 0 {
		t.Errorf("it leaves %v, %v", left, err)
	}
	r = x.run("check", "--admin", p.Admin, "--disk", filepath.Join(disk, "none"), "--quiet")
	if r.code != exitUnwell || !strings.Contains(r.out, "fail disk at ") || strings.Contains(r.out, "\nok ") ||
		strings.HasPrefix(r.out, "ok ") {
		t.Errorf("a disk that is not there: %+v", r)
	}
	r = newTool(t, "127.0.0.1:1").run("check", "--admin", "127.0.0.1:1")
	if r.code != exitUnwell || !strings.Contains(r.out, "fail cluster: it cannot be asked: ") ||
		!strings.Contains(r.out, "warn pages of 127.0.0.1:1: ") {
		t.Errorf("a cluster that is not there: %+v", r)
	}
	if r := x.run("check", "--timeout", "nonsense"); r.code != cli.ExitUsage {
		t.Errorf("%+v", r)
	}
}

func TestCheckJudgesCertificates(t *testing.T) {
	now := time.Now()
	for what, c := range map[string]struct {
		from, to time.Duration
		want     level
	}{
		"good":    {-time.Hour, 90 * 24 * time.Hour, levelOK},
		"ending":  {-time.Hour, 24 * time.Hour, levelWarn},
		"over":    {-time.Hour, -time.Minute, levelFail},
		"not yet": {time.Hour, 90 * 24 * time.Hour, levelFail},
	} {
		var x findings
		judgeCertificate("a", &x509.Certificate{NotBefore: now.Add(c.from), NotAfter: now.Add(c.to)}, now, &x)
		if x.worst() != c.want {
			t.Errorf("%s: %+v", what, x.list)
		}
	}
	ca, cert, key, _ := certificates(t)
	p, other := newPlace(t), newPlace(t)
	p.serve(t, "--listen", "off", "--tls-listen", other.Client, "--tls-cert", cert, "--tls-key", key).awaitReady()
	r := newTool(t, other.Client).run("check", "--tls-ca", ca, "--admin", p.Admin)
	if !strings.Contains(r.out, "warn certificate of "+other.Client+": it is good from ") ||
		!strings.Contains(r.out, "ok   hosts: all answer: 1\n") {
		t.Errorf("%+v", r)
	}
}
