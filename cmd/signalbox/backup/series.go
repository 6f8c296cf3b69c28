package backup

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"time"

	vm "github.com/VictoriaMetrics/metrics"

	"github.com/signalbox/signalbox/client/admin"
	"github.com/signalbox/signalbox/cmd/signalbox/internal/cli"
	"github.com/signalbox/signalbox/internal/backgrounddelete"
	serveradmin "github.com/signalbox/signalbox/server/admin"
)

// File name parts in a backup series. The names sort by time.
const (
	seriesTime    = "20060102T150405Z"
	seriesPattern = "signalbox-????????T??????Z.backup"
)

// series saves successive backups into a directory.
type series struct {
	dir     string
	keep    int
	from    *source
	metrics seriesMetrics
}

// seriesMetrics are the process's metrics.
type seriesMetrics struct {
	set             *vm.Set
	saved, failures *vm.Counter
	success, size   *vm.Gauge // of the last backup
	took            *vm.Gauge
}

func newSeriesMetrics() seriesMetrics {
	set := vm.NewSet()
	return seriesMetrics{
		set:      set,
		saved:    set.NewCounter("signalbox_backups_saved_total"),
		failures: set.NewCounter("signalbox_backup_failures_total"),
		success:  set.NewGauge("signalbox_backup_last_success_timestamp_seconds", nil),
		size:     set.NewGauge("signalbox_backup_last_size_bytes", nil),
		took:     set.NewGauge("signalbox_backup_last_duration_seconds", nil),
	}
}

// ServeHTTP serves the metrics.
func (m *seriesMetrics) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
	m.set.WritePrometheus(w)
}

// series saves once, or repeatedly until the context ends.
func (s *saveCommand) series(ctx context.Context, dir string, from *source) error {
	r := &series{dir: dir, keep: s.keep, from: from, metrics: newSeriesMetrics()}
	if s.listen != "" {
		pages := http.NewServeMux()
		pages.Handle("GET /metrics", &r.metrics)
		at, err := serveradmin.Listen(s.listen, pages, slog.New(slog.DiscardHandler))
		if err != nil {
			return cli.ExitWith(cli.ExitUnavailable, err)
		}
		defer at.Close()
		s.Say("signalbox: serving metrics at http://%s/metrics", at.Addr())
	}
	if err := r.clear(); err != nil {
		return err
	}
	if s.every == 0 {
		path, done, err := r.save(ctx)
		if err != nil {
			return err
		}
		return s.Line(Saved{path, done}, "%s", savedText(path, &done))
	}
	next := time.NewTicker(s.every)
	defer next.Stop()
	for ctx.Err() == nil {
		path, done, err := r.save(ctx)
		switch {
		case err == nil:
			err = s.Line(Saved{path, done}, "%s", savedText(path, &done))
		case ctx.Err() != nil:
			return nil
		case cli.ExitCode(err) != cli.ExitNoRight:
			s.Say("signalbox: the backup failed, next attempt in %v: %v", s.every, err)
			err = nil
		}
		if err != nil {
			return err
		}
		select {
		case <-next.C:
		case <-ctx.Done():
		}
	}
	return nil
}

// save saves the next backup, and removes the oldest ones beyond the number to keep.
func (s *series) save(ctx context.Context) (path string, done admin.Backup, err error) {
	began := time.Now()
	path = filepath.Join(s.dir, "signalbox-"+began.UTC().Format(seriesTime)+".backup")
	err = cli.WriteWhole(path, func(w io.Writer) (err error) {
		done, err = s.from.save(ctx, w)
		return err
	})
	if err == nil {
		err = s.prune()
	}
	m := &s.metrics
	if err != nil {
		m.failures.Inc()
		return path, done, err
	}
	m.saved.Inc()
	m.success.Set(float64(time.Now().Unix()))
	m.size.Set(float64(done.Bytes))
	m.took.Set(time.Since(began).Seconds())
	return path, done, nil
}

// prune removes all but the newest backups.
func (s *series) prune() error {
	found, err := s.list(seriesPattern)
	for _, old := range found[:max(0, len(found)-s.keep)] {
		err = errors.Join(err, backgrounddelete.Remove(old))
	}
	return err
}

// list returns the directory's files whose names match a pattern, sorted by name.
func (s *series) list(pattern string) (paths []string, err error) {
	entries, err := os.ReadDir(s.dir)
	for _, e := range entries {
		if matches, _ := filepath.Match(pattern, e.Name()); matches {
			paths = append(paths, filepath.Join(s.dir, e.Name()))
		}
	}
	return paths, err
}

// clear removes unfinished files from a killed process. Only one process saves into a directory.
func (s *series) clear() error {
	left, err := s.list(seriesPattern + ".*" + cli.PartialSuffix)
	for _, path := range left {
		err = errors.Join(err, os.Remove(path))
	}
	return err
}
