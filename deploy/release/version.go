package main

import (
	"fmt"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// version is the version of a release, with the commit of the source tree.
type version struct {
	number string // semantic, without the v of tags
	commit string
	date   time.Time
}

// tagForm is the form of the tags of releases.
var tagForm = regexp.MustCompile(`^v(\d+\.\d+\.\d+(?:-[0-9A-Za-z.-]+)?)$`)

// versionOf is the version of a source tree, from the tag of its commit. A commit without a tag gets 0.0.0-DATE.COMMIT,
// below every release and above every earlier commit. The g before the commit keeps a commit of
// digits alone from being a number, and numbers in versions must not begin with 0. Changes outside of commits are named
// in the version, because nothing can make the build again.
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

// stamp is the date in the form of RFC 3339, for programs and bills of materials.
func (v *version) stamp() string { return v.date.Format(time.RFC3339) }
