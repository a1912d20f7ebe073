"""Tasks and services of the template: not root, no secret in sight, and the settings that were measured."""

from __future__ import annotations

import json
import re

import pytest

from infra.tasks import containers, environment, known_settings, secrets
from infra.templates import EVERYTHING, NEEDED, Template
from nightgate.cli.deploy import DRAIN_POOL, POOL
from shell import ROOT

FULL, BARE = Template(EVERYTHING), Template(NEEDED)
EXISTING = Template({**NEEDED, "DatabaseUrlSecretArn": "arn:db", "RedisUrlSecretArn": "arn:redis"})
SECRET_NAME = re.compile(r"KEY|SECRET|TOKEN|PASSWORD|AUTH_STRING|CONNECTION_URL|REDIS_.*URL|DOCKET_URL")


def test_tasks_are_not_root_and_cannot_change_themselves() -> None:
    """They write to volumes and nowhere else."""
    for name, container in containers(FULL).items():
        assert container["User"] == "10001", name
        assert container["ReadonlyRootFilesystem"] is True, name
        assert container["LinuxParameters"]["Capabilities"] == {"Drop": ["ALL"]}, name
        assert {mount["ContainerPath"] for mount in container["MountPoints"]} <= {"/spool", "/data", "/tmp"}


def test_tasks_write_to_volumes_that_the_image_gives_to_their_user() -> None:
    """Fargate's fresh volumes belong to root, unless the image declares them."""
    dockerfile = (ROOT / "infra" / "Dockerfile").read_text(encoding="utf-8")
    (declared,) = re.findall(r'^VOLUME (\["/spool".*\])$', dockerfile, re.MULTILINE)
    mounted = {
        m["ContainerPath"] for container in containers(FULL).values() for m in container["MountPoints"]
    }

    assert mounted == set(json.loads(declared))
    for name, container in containers(FULL).items():
        homes = {environment(container)[variable] for variable in ("HOME", "PREFECT_HOME")}
        paths = {mount["ContainerPath"] for mount in container["MountPoints"]}
        assert all(any(home.startswith(path) for path in paths) for home in homes), name


@pytest.mark.parametrize("template", [FULL, BARE, EXISTING], ids=["full", "bare", "existing"])
def test_no_secret_stands_in_a_plain_variable(template: Template) -> None:
    """Whoever may look at a task definition reads its environment."""
    for name, container in containers(template).items():
        plain = [variable for variable in environment(container) if SECRET_NAME.search(variable)]
        assert plain == [], name
        assert all(value.startswith("arn:") for value in secrets(container).values()), name
        assert "{{resolve:" not in json.dumps(container), name


def test_no_secret_is_a_parameter_or_an_output() -> None:
    """Parameters name secrets by ARN; outputs name none."""
    raw = BARE.raw
    for name, parameter in raw["Parameters"].items():
        assert not SECRET_NAME.search(name.upper()) or name.endswith("SecretArn"), name
        assert "NoEcho" not in parameter, name
    assert not re.search("secret", json.dumps(raw["Outputs"], default=str), re.IGNORECASE)


def test_an_existing_database_and_broker_are_used_instead_of_new_ones() -> None:
    """By their addresses in secrets."""
    kinds = {resource["Type"].split("::")[1] for resource in EXISTING.resources.values()}
    server = containers(EXISTING)["ServerTask"]

    assert not kinds & {"RDS", "ElastiCache"}
    assert secrets(server)["PREFECT_SERVER_DATABASE_CONNECTION_URL"] == "arn:db"
    assert secrets(server)["PREFECT_REDIS_MESSAGING_URL"] == "arn:redis"
    assert "PREFECT_SERVER_DATABASE_HOST" not in environment(server)


def test_the_database_made_here_is_closed_and_comes_back() -> None:
    """Only the server reaches it; backups for a week; it does not go with a click."""
    database = BARE.properties("Database")

    assert database["PubliclyAccessible"] is False
    assert database["StorageEncrypted"] is True
    assert database["BackupRetentionPeriod"] >= 7
    assert database["DeletionProtection"] is True
    assert database["MasterUserPassword"].startswith("{{resolve:secretsmanager:")
    (rule,) = BARE.properties("DatabaseGroup")["SecurityGroupIngress"]
    assert rule["SourceSecurityGroupId"] == BARE.arn("ServerGroup")


def test_nothing_listens_to_an_address() -> None:
    """Only groups may come in."""
    for name, group in FULL.of_type("AWS::EC2::SecurityGroup").items():
        for rule in group.get("SecurityGroupIngress", []):
            assert "SourceSecurityGroupId" in rule, name
            assert not {"CidrIp", "CidrIpv6"} & rule.keys(), name


def test_the_server_is_set_up_as_it_was_measured() -> None:
    """The recorder's batches, a broker that outlives it, silence, a password."""
    server = containers(BARE)["ServerTask"]

    found = environment(server)
    recorder = "PREFECT_SERVER_SERVICES_TASK_RUN_RECORDER_"
    assert found[f"{recorder}READ_BATCH_SIZE"] == "100"
    assert found[f"{recorder}BATCH_SIZE"] == "200"
    assert found[f"{recorder}FLUSH_INTERVAL"] == "1"
    assert found["PREFECT_MESSAGING_BROKER"] == found["PREFECT_MESSAGING_CACHE"] == "prefect_redis.messaging"
    assert found["PREFECT_SERVER_ANALYTICS_ENABLED"] == "false"
    assert "PREFECT_SERVER_API_AUTH_STRING" in secrets(server)
    assert "TaskRoleArn" not in BARE.properties("ServerTask")


def test_everyone_who_calls_the_server_outlives_its_database_and_knows_the_password() -> None:
    """And says nothing to anybody else."""
    for name, container in containers(FULL).items():
        found = environment(container)
        assert (found["PREFECT_SERVER_ANALYTICS_ENABLED"], found["DO_NOT_TRACK"]) == ("false", "1"), name
        if name != "ServerTask":
            assert found["PREFECT_CLIENT_RETRY_EXTRA_CODES"] == "500", name
            assert found["PREFECT_API_URL"] == "http://server.evals.internal:4200/api", name
            assert "PREFECT_API_AUTH_STRING" in secrets(container), name


def test_prefect_knows_every_setting_that_it_is_given() -> None:
    """A misspelt setting is ignored without a word."""
    given = {
        variable
        for template in (FULL, EXISTING)
        for container in containers(template).values()
        for variable in {**environment(container), **secrets(container)}
        if variable.startswith("PREFECT_") and "REDIS" not in variable
    }

    assert given <= known_settings()


def test_one_pool_has_the_wider_role_and_two_pools_have_one_each() -> None:
    """With one pool parent and drainers share a service; what is narrower needs a pool of its own."""
    one = Template({**NEEDED, "WorkPool": "nightgate"})

    assert one.properties("WorkerTask")["TaskRoleArn"] == one.arn("FinisherRole")
    assert "Parents" not in one.resources
    assert BARE.properties("WorkerTask")["TaskRoleArn"] == BARE.arn("WorkerRole")
    assert BARE.properties("ParentTask")["TaskRoleArn"] == BARE.arn("FinisherRole")


def test_each_service_works_for_the_pool_that_the_deployments_are_put_in() -> None:
    """A pool without a worker starts nothing and says nothing; the names are the defaults."""
    for template, parents in ((BARE, POOL), (FULL, "parents")):
        found = containers(template)
        assert found["WorkerTask"]["Command"] == ["nightgate", "worker", "--pool", DRAIN_POOL]
        assert found["ParentTask"]["Command"] == ["nightgate", "worker", "--pool", parents]
        for name in ("WorkerTask", "ParentTask"):
            settings = environment(found[name])
            assert (settings["NIGHTGATE_POOL"], settings["NIGHTGATE_DRAIN_POOL"]) == (parents, DRAIN_POOL)


def test_commands_run_with_the_role_that_may_carry_them_out() -> None:
    """A drainer's role may not remove what doctor wrote."""
    for parameters in (NEEDED, EVERYTHING, {**NEEDED, "WorkPool": "nightgate"}):
        template = Template(parameters)
        task = "ParentTask" if "ParentTask" in template.resources else "WorkerTask"
        told = template.resolved(template.raw["Outputs"]["CommandTaskDefinition"]["Value"])
        assert told == template.arn(task)
        assert template.properties(task)["TaskRoleArn"] == template.arn("FinisherRole")


def test_no_worker_is_no_parent_either() -> None:
    """So that an update may put the new server up before the first new client."""
    assert BARE.properties("Parents")["DesiredCount"] == 1
    assert Template({**NEEDED, "WorkerCount": 0}).properties("Parents")["DesiredCount"] == 0


def test_a_bad_deployment_rolls_back_and_two_servers_never_meet() -> None:
    """The newer one migrates the database that the older one uses."""
    for name, service in FULL.of_type("AWS::ECS::Service").items():
        deployment = service["DeploymentConfiguration"]
        assert deployment["DeploymentCircuitBreaker"] == {"Enable": True, "Rollback": True}, name
    server = FULL.properties("Server")
    assert server["DesiredCount"] == 1
    assert server["DeploymentConfiguration"]["MaximumPercent"] == 100


def test_every_container_has_a_health_check_and_a_log_that_ends() -> None:
    """No log group keeps for ever, and none is made on the way without a limit."""
    groups = FULL.of_type("AWS::Logs::LogGroup")

    assert all(group["RetentionInDays"] == 30 for group in groups.values())
    for name, container in containers(FULL).items():
        assert container["HealthCheck"]["Command"], name
        options = container["LogConfiguration"]["Options"]
        assert options["awslogs-group"] in {FULL.arn(group) for group in groups}, name
        assert "awslogs-create-group" not in options, name


def test_a_workers_health_does_not_hang_on_the_server() -> None:
    """ECS would kill workers in the middle of their shards because Prefect restarts."""
    for name, container in containers(FULL).items():
        check = json.dumps(container["HealthCheck"]["Command"])
        assert ("api/health" in check) is (name == "ServerTask"), name


def test_the_watchers_command_is_one_that_ends() -> None:
    """Else each hour leaves a task behind."""
    from nightgate.cli.parser import build_parser

    command = containers(BARE)["WatcherTask"]["Command"]
    parsed = build_parser().parse_args(command[1:])

    assert command[0] == "nightgate"
    assert (parsed.command, parsed.once) == ("watch", True)


def test_the_list_of_known_settings_is_no_list_of_everything() -> None:
    """The check above could not fail otherwise."""
    known = known_settings()

    assert "PREFECT_API_URL" in known
    assert "PREFECT_SERVER_SERVICES_TASK_RUN_RECORDER_READ_BATCH_SIZES" not in known


def test_parents_ask_for_workers_and_tell_the_alarm_of_their_runs() -> None:
    """Without the first a night is played by one process, without the second it seems never to have run."""
    for name in ("WorkerTask", "ParentTask"):
        found = environment(containers(FULL)[name])
        assert (found["NIGHTGATE_METRICS"], found["NIGHTGATE_DRAINERS"]) == ("emf", 2), name
