// Package quotas counts what owners have unfinished at a frontend and refuses what would
// exceed a quota. An owner's count covers its own jobs and those of all owners below it, so
// the quota of a team bounds its members together.
package quotas
