package main

import (
	"fmt"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// version is a release version and the source tree's commit.
type version struct {
	number string // semantic version without the tag's v
	commit string
	date   time.Time
}

// tagForm is the release tag format.
var tagForm = regexp.MustCompile(`^v(\d+\.\d+\.\d+(?:-[0-9A-Za-z.-]+)?)$`)

// versionOf returns a source tree's version, from its commit's tag. A commit without a tag gets 0.0.0-DATE.COMMIT,
// below every release and above every earlier commit. The g before the commit prevents an all-digit commit from being a
// number, because numbers in versions must not start with 0. Uncommitted changes are named in the version, because such
// a build cannot be repeated.
func versionOf(root string) (v version, err error) {
	git := func(args ...string) (out string) {
		if err != nil {
			return ""
		}
		cmd := exec.Command("git", append([]string{"-C", root}, args...)...)
		text, failed := cmd.Output()
		if failed != nil {
			err = fmt.Errorf("git %s: %w: a release is made from a clone, with the tags", strings.Join(args, " "),
				failed)
		}
		return strings.TrimSpace(string(text))
	}
	v.commit = git("rev-parse", "HEAD")
	seconds, _ := strconv.ParseInt(git("show", "-s", "--format=%ct", "HEAD"), 10, 64)
	v.date = time.Unix(seconds, 0).UTC()
	tags := git("tag", "--points-at", "HEAD", "--sort=-version:refname")
	changed := git("status", "--porcelain")
	if err != nil {
		return v, err
	}
	for tag := range strings.Lines(tags) {
		if m := tagForm.FindStringSubmatch(strings.TrimSpace(tag)); m != nil {
			v.number = m[1]
			break
		}
	}
	if v.number == "" || changed != "" {
		v.number = "0.0.0-" + v.date.Format("20060102150405") + ".g" + v.commit[:12]
	}
	if changed != "" {
		v.number += ".changed"
	}
	return v, nil
}

// stamp returns the date in RFC 3339 format, for programs and bills of materials.
func (v *version) stamp() string { return v.date.Format(time.RFC3339) }
