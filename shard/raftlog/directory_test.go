package raftlog

import (
	"encoding/json"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/hosts"
)

// refused opens a host that must not open, and checks that the error is helpful and nothing was damaged.
func refused(t *testing.T, c Config, want error) {
	t.Helper()
	host, err := Open(c)
	if err == nil {
		host.Close()
		t.Fatalf("opened, want %v", want)
	}
	if !errors.Is(err, want) {
		t.Errorf("got %v, want %v", err, want)
	}
	if !strings.Contains(err.Error(), c.DataDir) {
		t.Errorf("%q does not name the directory", err)
	}
}

func TestADirectoryIsRefusedToAHostThatIsNotItsOwn(t *testing.T) {
	one := newCluster(t, 2, nil)[0]
	one.open()
	one.close()
	made := initialMembersOf(2)
	made[2] = incarnationOf(9)
	for name, c := range map[string]struct {
		change func(*Config)
		want   error
	}{
		"another host":    {func(c *Config) { c.Host, c.Incarnation = 2, incarnationOf(2) }, ErrOtherHost},
		"another cluster": {func(c *Config) { c.Deployment++ }, ErrOtherDeployment},
		"another incarnation": {func(c *Config) {
			c.Incarnation = incarnationOf(9)
			c.InitialMembers = map[shard.HostID]hosts.Incarnation{1: c.Incarnation, 2: incarnationOf(2)}
		}, ErrOtherIncarnation},
		"an initial member's incarnation changed": {func(c *Config) { c.InitialMembers = made },
			ErrInitialMembersChanged},
		"fewer initial members": {func(c *Config) { c.InitialMembers = initialMembersOf(1) },
			ErrInitialMembersChanged},
	} {
		t.Run(name, func(t *testing.T) {
			config := one.config
			config.Transport = nil
			c.change(&config)
			refused(t, config, c.want)
		})
	}
	one.open() // unchanged
}

func isFile(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}

// TestADirectoryOfAnEarlierLogIsRefusedAndLeftAlone: the error describes the directory and what to do.
func TestADirectoryOfAnEarlierLogIsRefusedAndLeftAlone(t *testing.T) {
	one := newCluster(t, 1, nil)[0]
	record, err := recordOf(one.config.withDefaults())
	if err != nil {
		t.Fatal(err)
	}
	for format := oldestFormat; format < recordFormat; format++ {
		record.Format = format
		text, err := json.Marshal(record)
		if err != nil {
			t.Fatal(err)
		}
		want := map[string]string{
			lockFile: "", recordFile: string(text), "machine/1/logdb-0/CURRENT": "MANIFEST-000001\n",
		}
		for name, text := range want {
			path := filepath.Join(one.config.DataDir, name)
			err := os.MkdirAll(filepath.Dir(path), 0o750)
			if err := errors.Join(err, os.WriteFile(path, []byte(text), 0o640)); err != nil {
				t.Fatal(err)
			}
		}
		refused(t, one.config, ErrFormat)
		if _, err := Open(one.config); !strings.Contains(err.Error(), moveAdvice) {
			t.Errorf("it does not say how to go on: %v", err)
		}
		found := make(map[string]string)
		for _, path := range named(t, one.config.DataDir, isFile) {
			text, _ := os.ReadFile(path)
			name, _ := filepath.Rel(one.config.DataDir, path)
			found[name] = string(text)
		}
		if !maps.Equal(found, want) {
			t.Errorf("it has %q, had %q", found, want)
		}
	}
}

func TestADirectoryIsRefusedWhereItsRecordDiffers(t *testing.T) {
	one := newCluster(t, 1, nil)[0]
	one.open()
	one.close()
	path := filepath.Join(one.config.DataDir, recordFile)
	good, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		change func(*directoryRecord)
		want   error
	}{
		"another machine":  {func(r *directoryRecord) { r.Hostname = "elsewhere" }, ErrHostnameChanged},
		"a format to come": {func(r *directoryRecord) { r.Format++ }, ErrFormat},
	} {
		t.Run(name, func(t *testing.T) {
			var record directoryRecord
			if err := json.Unmarshal(good, &record); err != nil {
				t.Fatal(err)
			}
			c.change(&record)
			text, _ := json.Marshal(record)
			if err := os.WriteFile(path, text, 0o600); err != nil {
				t.Fatal(err)
			}
			refused(t, one.config, c.want)
		})
	}
	if err := os.WriteFile(path, good[:len(good)/2], 0o600); err != nil {
		t.Fatal(err)
	}
	refused(t, one.config, ErrFormat)
}

// TestTheEnginesRefusalsAreExplained: for directories with a lost record.
func TestTheEnginesRefusalsAreExplained(t *testing.T) {
	one := newCluster(t, 2, nil)[0]
	one.open()
	one.close()
	if err := os.Remove(filepath.Join(one.config.DataDir, recordFile)); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		change func(*Config)
		want   error
	}{
		"incarnation": {func(c *Config) {
			c.Incarnation = incarnationOf(9)
			c.InitialMembers = map[shard.HostID]hosts.Incarnation{1: c.Incarnation, 2: incarnationOf(2)}
		}, ErrOtherIncarnation},
		"deployment": {func(c *Config) { c.Deployment++ }, ErrOtherDeployment},
		"workers":    {func(c *Config) { c.Workers = 2 }, ErrWorkersChanged},
	} {
		t.Run(name, func(t *testing.T) {
			config := one.config
			config.Transport = nil
			c.change(&config)
			refused(t, config, c.want)
		})
	}
	one.open()
}

func TestADirectoryHasOneHostAtATime(t *testing.T) {
	one := openOne(t, nil)
	config := one.config
	refused(t, config, ErrDirectoryInUse)
	want := one.mustPropose(0, 3) // the first host has lost nothing
	one.close()
	one.open()
	one.machine.awaitBatches(t, want)
}
